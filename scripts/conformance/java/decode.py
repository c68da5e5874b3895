"""As ../arrival.py, with what Netflix's decoders are known to change. They are chosen by name in a client's settings.

The default, and what Spring Cloud uses, is LegacyJacksonJson: it changes nothing. JacksonXml needs a library that clients do
not have unless they add it; for XML they have XStreamXml.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import arrival  # noqa: E402

_CODED = re.compile(r"__|_-|(?:_\.[0-9a-f]{4})+")


def reads_json_as_if_it_were_xml(record):
    """XStream's own reader of JSON undoes the coding of element names, which JSON does not have; takes a key with `@` for an attribute, and drops it; and takes the text `null` for nothing."""

    def key_of(name: str) -> str:
        return _CODED.sub(lambda coded: {"__": "_", "_-": "$"}.get(coded[0]) or bytes.fromhex(coded[0].replace("_.", "")).decode("utf-16-be"), name)

    def entry(key, value):
        return None if key.startswith("@") else (key_of(key), "" if value == "null" else value)

    # Where two keys become one, the later one stays.
    changed = dict(filter(None, (entry(key, value) for key, value in record["metadata"].items())))
    return record | {"metadata": changed}


_XML = (arrival.xml_replaces_what_it_forbids, arrival.xml_leaves_out_the_empty_key)
arrival.QUIRKS |= {
    ("Java XStreamJson", "json"): (reads_json_as_if_it_were_xml,),
    ("Java XStreamXml", "xml"): _XML,
    ("Java JacksonXml", "xml"): (*_XML, arrival.keys_stay_coded),
    ("Java JacksonXmlMini", "xml"): _XML,
}

if __name__ == "__main__":
    sys.exit(arrival.main(sys.argv[1:]))
