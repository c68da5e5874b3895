"""Compares two answers to one request and says where they differ. Used by runner.py; what a difference may be is in rules.py."""

import bisect
import dataclasses

from bodies import Body, Element, parse
from wire import Answer, Request

HEADERS = ("content-type", "content-encoding", "retry-after", "location", "vary", "allow", "cache-control", "etag", "last-modified", "www-authenticate")
# Times that a server writes: equal where both are of the same step of the sequence.
TIMES = {"registrationTimestamp", "lastRenewalTimestamp", "evictionTimestamp", "serviceUpTimestamp", "lastUpdatedTimestamp", "lastDirtyTimestamp"}
# A renewed lease shows the time of renewal and the lease's duration, which need not be the one shown beside: these are in use in the sequences.
LEASES_MS = tuple(1000 * seconds for seconds in (0, 90, 45, 60, 1, 7, 10))
# A server may take its time from a clock read a little earlier, or later.
SLACK_MS = 2
# Headers of which an error page has its own.
_OF_ERROR_PAGES = ("content-type", "vary", "cache-control", "content-language")
# What stands in for a value that one of the two does not have.
ABSENT = "(absent)"


@dataclasses.dataclass(frozen=True)
class Difference:
    # "status", "header:allow", "framing", "kind", or a path in the body without names, as `application[].instance[].status`
    where: str
    java: object
    ours: object
    # The instance or application that it is about, where it is about one.
    about: str = ""

    def __str__(self):
        return f"{self.where}{f' of {self.about}' if self.about else ''}: java {_short(self.java)}, ours {_short(self.ours)}"


def _is_error_page(request: Request, answer: Answer, body: Body) -> bool:
    """Whether an error came from the framework around the Java server and not from Eureka."""
    if answer.status < 400:
        return False
    if request.method == "HEAD":
        return True
    framework_json = body.kind == "json" and isinstance(body.tree, dict) and {"timestamp", "status", "error", "path"} <= body.tree.keys()
    framework_xml = body.kind == "xml" and body.tree.name == "Map" and body.tree.child("timestamp") is not None
    return framework_json or framework_xml or "Whitelabel Error Page" in body.text or body.text.startswith("<!doctype html>")


def _short(value) -> str:
    text = repr(value)
    return text if len(text) <= 400 else text[:400] + "..."


class Times:
    """When the two servers worked on the steps of a sequence."""

    def __init__(self):
        self._began = ([], [])
        self._ended = ([], [])

    def step(self, java: Answer, ours: Answer):
        for side, answer in enumerate((java, ours)):
            self._began[side].append(answer.began - SLACK_MS)
            self._ended[side].append(answer.ended + SLACK_MS)

    def same(self, java: int, ours: int, offsets: tuple) -> bool:
        return any(self._steps(0, java - offset) & self._steps(1, ours - offset) for offset in offsets)

    def _steps(self, side: int, time: int) -> set:
        last = bisect.bisect_right(self._began[side], time)
        # Steps follow one another, so that only the last few can hold it.
        return {step for step in range(max(0, last - 8), last) if self._ended[side][step] >= time}


class Comparison:
    """One pair of answers. `differences` is what was found."""

    def __init__(self, request: Request, java: Answer, ours: Answer, times: Times, tag: str):
        self.differences: list = []
        self._times = times
        self._tag = tag
        self._delta = "/apps/delta" in request.target
        self.java = parse(java.body, java.header("content-encoding"))
        self.ours = parse(ours.body, ours.header("content-encoding"))
        if java.status != ours.status:
            self.differ("status", java.status, ours.status)
        self.error_page = _is_error_page(request, java, self.java)
        for name in HEADERS:
            if self.error_page and name in _OF_ERROR_PAGES:
                continue
            left, right = java.header(name), ours.header(name)
            if name == "allow" and left and right:
                left, right = (sorted(method.strip() for method in value.split(",")) for value in (left, right))
            if left != right:
                self.differ(f"header:{name}", left, right)
        if self.error_page:
            self.differ("error page", self.java.text, self.ours.text)
            return
        if request.method != "HEAD" and java.framing != ours.framing and not (java.body and ours.body and {java.framing, ours.framing} <= {"chunked", "length"}):
            self.differ("framing", java.framing, ours.framing)
        self._bodies(self.java, self.ours)

    def differ(self, where: str, java, ours, about: str = ""):
        self.differences.append(Difference(where, java, ours, about))

    def _bodies(self, java: Body, ours: Body):
        if java.kind != ours.kind:
            self.differ("kind", f"{java.kind}: {java.text}", f"{ours.kind}: {ours.text}")
        elif java.kind == "json":
            self._json("", "", java.tree, ours.tree)
            if java.terse and not ours.terse:
                self.differ("layout", java.text, ours.text)
        elif java.kind == "xml":
            self._xml("", "", java.tree, ours.tree)
        elif java.text != ours.text:
            self.differ("text", java.text, ours.text)

    # JSON

    def _json(self, where: str, about: str, java, ours):
        name = where.rpartition(".")[2]
        if isinstance(java, dict) and isinstance(ours, dict):
            for key in java.keys() | ours.keys():
                path = f"{where}.{key}".lstrip(".")
                if key not in ours or key not in java:
                    self.differ(path, java.get(key, ABSENT), ours.get(key, ABSENT), about)
                else:
                    self._json(path, about, java[key], ours[key])
            common = [key for key in java if key in ours]
            if name != "metadata" and common != [key for key in ours if key in java]:
                self.differ(f"{where}(order)", list(java), list(ours), about)
        elif isinstance(java, list) and isinstance(ours, list):
            if name in ("application", "instance"):
                identity = _json_application if name == "application" else _json_instance
                self._named(where, about, self._kept(java, identity), self._kept(ours, identity), self._json)
            else:
                if len(java) != len(ours):
                    self.differ(f"{where}(length)", len(java), len(ours), about)
                for left, right in zip(java, ours):
                    self._json(f"{where}[]", about, left, right)
        elif type(java) is not type(ours) or java != ours:
            if type(java) is not type(ours) or not self._same_time(name, java, ours):
                self.differ(where, java, ours, about)

    # XML

    def _xml(self, where: str, about: str, java: Element, ours: Element):
        name = java.name
        where = f"{where}.{name}".lstrip(".")
        if java.name != ours.name:
            self.differ(where, java.name, ours.name, about)
            return
        if (java.attributes, java.single) != (ours.attributes, ours.single):
            self.differ(f"{where}(tag)", (java.attributes, java.single), (ours.attributes, ours.single), about)
        if java.text is not None and ours.text is not None:
            if java.text != ours.text and not self._same_time(name, java.text, ours.text):
                self.differ(where, java.text, ours.text, about)
            return
        left, right = self._xml_children(java), self._xml_children(ours)
        for key in left.keys() | right.keys():
            if key not in left or key not in right:
                self.differ(f"{where}.{key[0]}", *(side[key].text or "(elements)" if key in side else ABSENT for side in (left, right)), key[1] or about)
            else:
                self._xml(where, key[1] or about, left[key], right[key])
        common = [key[0] for key in left if key in right]
        if name != "metadata" and common != [key[0] for key in right if key in left]:
            self.differ(f"{where}(order)", common, [key[0] for key in right if key in left], about)
        blanks = [sorted(item for item in side.items if isinstance(item, str)) for side in (java, ours)]
        if left.keys() == right.keys() and blanks[0] != blanks[1] and not self._delta:
            self.differ(f"{where}(layout)", *blanks, about)

    def _xml_children(self, element: Element) -> dict:
        """Children under their name and what tells them apart, with those of other sequences left out."""
        children = {}
        for child in element.elements:
            if child.name == "application":
                apart = child.child("name") or ""
                if not self._is_kept(apart):
                    continue
            elif child.name == "instance" and element.name == "application":
                apart = child.child("instanceId") or child.child("hostName") or ""
            else:
                apart = ""
            key, count = (child.name, apart), 0
            while key in children:
                count += 1
                key = (child.name, f"{apart}#{count}")
            children[key] = child
        return children

    # What both have

    def _named(self, where: str, about: str, java: dict, ours: dict, compare):
        for key in java.keys() | ours.keys():
            if key not in java or key not in ours:
                self.differ(f"{where}[]", java.get(key, ABSENT), ours.get(key, ABSENT), key)
            else:
                compare(f"{where}[]", key, java[key], ours[key])
        common, in_ours = [key for key in java if key in ours], [key for key in ours if key in java]
        if self._delta and common != in_ours:
            # Whether it is the order of changes but for those that are gone, which come last.
            gone_last = sorted(common, key=lambda key: java[key].get("actionType") == "DELETED")
            self.differ(f"{where}(gone last)" if gone_last == in_ours else f"{where}(order)", common, in_ours, about)

    def _kept(self, items: list, identity) -> dict:
        """Items under their identity. A delta lists other sequences' applications too, for a while."""
        kept = {}
        for item in items:
            key = identity(item)
            if identity is _json_application and not self._is_kept(key):
                continue
            while key in kept:
                key += "#"
            kept[key] = item
        return kept

    def _is_kept(self, application: str) -> bool:
        return not self._delta or self._tag in application

    def _same_time(self, name: str, java, ours) -> bool:
        if name not in TIMES:
            return False
        try:
            java, ours = int(java), int(ours)
        except ValueError:
            return False
        return self._times.same(java, ours, LEASES_MS if name == "lastRenewalTimestamp" else (0,))


def _json_application(item) -> str:
    return item.get("name", "")


def _json_instance(item) -> str:
    return item.get("instanceId") or item.get("hostName") or ""
