"""Whether what was sent arrives: a client's decoder reads the registry of oddities.py, and every record is compared.

    arrival.py COMMAND...

runs inside stage.py. COMMAND prints, for each view that it read, a line of JSON:
`{"client", "version", "format": "xml" | "json", "view": "full" | "compact" | "application" | "delta", "records": [...]}`
or, in place of records, `"error"`: what the decoder threw. Missing, null and empty are one thing in fields that are text.

Where a client is known to change a value (QUIRKS), the changed value is what is expected; if the client ever does better,
that shows as a difference. That the bytes carry the value is shown by the same comparison of the client `python stdlib`,
for which there is no quirk but what XML itself cannot carry.
"""

import json
import os
import re
import subprocess
import sys
import urllib.request

import oddities

# So many differences of a view are shown.
MAX_SHOWN = 10
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# Letters and digits are enough of XML's definition for the keys in oddities.py.
_MAY_FOLLOW = re.compile(r"[^\W_]|[-.]")


def _element_name(key: str) -> str:
    """The name that the registry, as Eureka's XML library, gives to the element of a metadata key."""
    name = ""
    for place, character in enumerate(key):
        if character in "$_":
            name += {"$": "_-", "_": "__"}[character]
        elif _MAY_FOLLOW.match(character) and (place or character.isalpha()):
            name += character
        else:
            units = character.encode("utf-16-be").hex()
            name += "".join(f"_.{units[start:start + 4]}" for start in range(0, len(units), 4))
    return name


def _changed_texts(record: dict, change) -> dict:
    def walk(value):
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        return change(value) if isinstance(value, str) else value

    return walk(record)


def _changed_metadata(record: dict, change, of=("metadata",)) -> dict:
    """The record, where `change(key, value)` gives the new pair, or None to leave it out."""
    new = {field: dict(filter(None, (change(key, value) for key, value in record[field].items()))) for field in of}
    return record | new


# Each takes a record and gives the one to expect, and says why.


def xml_replaces_what_it_forbids(record):
    """XML 1.0 has no way to write most control characters: the registry writes U+FFFD."""
    return _changed_texts(record, lambda text: _FORBIDDEN.sub("\ufffd", text))


def xml_leaves_out_the_empty_key(record):
    """An element needs a name: the entry is left out."""
    return _changed_metadata(record, lambda key, value: (key, value) if key else None)


def keys_stay_coded(record):
    """The client takes the element's name for the key, and does not undo the coding that all Eureka servers use."""
    return _changed_metadata(record, lambda key, value: (_element_name(key), value), ("metadata", "dataCenterMetadata"))


def shows_the_marker_of_no_metadata(record):
    """Eureka's JSON writes an empty map as an object with a class marker, which the client takes for an entry."""
    return record if record["metadata"] else record | {"metadata": {"@class": "java.util.Collections$EmptyMap"}}


def has_no_empty_amazon_value(record):
    """The client's type for Amazon's metadata cannot tell an empty value from none."""
    return _changed_metadata(record, lambda key, value: (key, value) if value else None, ("dataCenterMetadata",))


def reads_metadata_as_numbers(record):
    """From XML the client trims metadata, and makes what looks like a number or a truth value one."""

    def read(value):
        value = value.strip("\t\r\b\n ")
        if value in ("true", "false"):
            return value == "true"
        if value.lower() not in ("nan", "inf", "-inf"):
            try:
                number = float(value)
                return number if abs(number) < float("inf") else f"{number:+}".capitalize().replace("inf", "Inf")
            except ValueError:
                pass
        return value

    return _changed_metadata(record, lambda key, value: (key, read(value)))


QUIRKS = {
    ("python stdlib", "xml"): (xml_replaces_what_it_forbids, xml_leaves_out_the_empty_key),
    ("py-eureka-client", "xml"): (xml_replaces_what_it_forbids, xml_leaves_out_the_empty_key, keys_stay_coded),
    ("fargo", "xml"): (
        has_no_empty_amazon_value,
        xml_replaces_what_it_forbids,
        xml_leaves_out_the_empty_key,
        keys_stay_coded,
        reads_metadata_as_numbers,
    ),
    ("fargo", "json"): (has_no_empty_amazon_value, shows_the_marker_of_no_metadata),
    ("eureka-js-client", "json"): (shows_the_marker_of_no_metadata,),
}


def _same(wanted, got) -> bool:
    if isinstance(wanted, dict) and isinstance(got, dict):
        return wanted.keys() == got.keys() and all(_same(value, got[key]) for key, value in wanted.items())
    return wanted == got or (wanted in (None, "") and got in (None, ""))


def _short(value) -> str:
    text = ascii(value)
    return text if len(text) < 120 else f"{text[:100]}... ({len(text)})"


def _differences_of(wanted: dict, got: dict):
    name = f"{_short(wanted['app'])}/{_short(wanted['instanceId'])}"
    for field, value in wanted.items():
        if field not in got:
            # The client's type has no such field.
            continue
        if isinstance(value, dict) and isinstance(got[field], dict):
            for key in sorted(value.keys() | got[field].keys()):
                one, other = value.get(key), got[field].get(key)
                if (key in value) != (key in got[field]) or not _same(one, other):
                    yield f"{name} {field}[{_short(key)}]: wanted {_short(one) if key in value else 'none'}, got {_short(other) if key in got[field] else 'none'}"
        elif not _same(value, got[field]):
            yield f"{name} {field}: wanted {_short(value)}, got {_short(got[field])}"


def differences(dump: dict) -> list:
    if "error" in dump:
        return [f"threw {dump['error']}"]
    wanted = {}
    for record in oddities.expected():
        for quirk in QUIRKS.get((dump["client"], dump["format"]), ()):
            record = quirk(record)
        if dump["view"] == "compact":
            record = oddities.compact(record)
        wanted[record["app"], record["instanceId"]] = record
    got = {(record["app"], record["instanceId"]): record for record in dump["records"]}
    found = [f"{_short(key)} is missing" for key in wanted if key not in got]
    found += [f"{_short(key)} is there, but was not sent" for key in got if key not in wanted]
    if len(got) != len(dump["records"]):
        found.append("an instance is there twice")
    for key in wanted.keys() & got.keys():
        found += _differences_of(wanted[key], got[key])
    return found


def main(command: list) -> int:
    urllib.request.urlopen(urllib.request.Request(os.environ["CONTROL_URL"] + "/oddities", method="POST"), timeout=60)
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="surrogatepass", check=False)
    failed = process.returncode
    for line in filter(None, process.stdout.split("\n")):
        dump = json.loads(line)
        found = differences(dump)
        failed += len(found)
        for difference in found[:MAX_SHOWN]:
            print(f"{dump['client']} {dump['format']} {dump['view']}: {difference}", file=sys.stderr)
        result = f"FAILED: {len(found)} differences, the first: {found[0]}" if found else "ok"
        step = f"every oddity arrives: {dump['view']} as {dump['format'].upper()}"
        print(dump["client"], dump["version"], step, result.replace("\t", " "), sep="\t", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
