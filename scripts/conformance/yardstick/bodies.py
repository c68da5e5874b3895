"""Bodies as trees that lose nothing: JSON as its values, XML as its tags and texts as they stand. Used by compare.py."""

import dataclasses
import gzip
import json
import re

_TOKEN = re.compile(r"<[^>]*>|[^<]+|<")
_NAME = re.compile(r"</?([^\s/>]*)([^>]*?)(/?)>$", re.S)


@dataclasses.dataclass
class Element:
    name: str
    # Attributes as they are written, with the blank before them.
    attributes: str
    # Whether it is written as one tag.
    single: bool
    items: list

    @property
    def elements(self) -> list:
        return [item for item in self.items if isinstance(item, Element)]

    @property
    def text(self) -> str | None:
        """Its text; None where it has elements."""
        return None if self.elements else "".join(self.items)

    def child(self, name: str) -> str | None:
        return next((element.text for element in self.elements if element.name == name), None)


@dataclasses.dataclass
class Body:
    # "empty", "json", "xml", "text" or "broken gzip"
    kind: str
    # A JSON value, an Element, or None
    tree: object
    text: str
    # Whether a JSON text is written without blanks, repeated keys and needless escapes
    terse: bool = True


def parse(content: bytes, encoding: str | None) -> Body:
    if encoding == "gzip" and content:
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError):
            return Body("broken gzip", None, repr(content))
    text = content.decode("utf-8", "backslashreplace")
    if not text:
        return Body("empty", None, text)
    if text[0] in "{[":
        try:
            tree = json.loads(text)
            return Body("json", tree, text, json.dumps(tree, ensure_ascii=False, separators=(",", ":")) == text)
        except ValueError:
            return Body("text", None, text)
    if text[0] == "<":
        tree = _xml(text)
        if tree is not None:
            return Body("xml", tree, text)
    return Body("text", None, text)


def _xml(text: str) -> Element | None:
    """The one root element; None where tags do not match, or are none."""
    stack = [Element("", "", False, [])]
    for token in _TOKEN.findall(text):
        if not token.startswith("<"):
            stack[-1].items.append(token)
            continue
        match = _NAME.match(token)
        if match is None or not match[1] or match[1].startswith(("!", "?")):
            return None
        if token.startswith("</"):
            if stack[-1].name != match[1]:
                return None
            stack.pop()
            continue
        element = Element(match[1], match[2], bool(match[3]), [])
        stack[-1].items.append(element)
        if not element.single:
            stack.append(element)
    if len(stack) != 1 or len(stack[0].items) != 1:
        return None
    return stack[0].elements[0] if stack[0].elements else None
