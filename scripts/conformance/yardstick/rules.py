"""Differences that are decided: each rule has the name of its line in ../differences.md. Used by runner.py; run.py checks the names."""

import dataclasses
import json
import re
from collections.abc import Callable

from bodies import Element
from compare import ABSENT

_OVERRIDE = ("status", "overriddenStatus", "overriddenstatus", "actionType", "lastUpdatedTimestamp", "apps__hashcode")


@dataclasses.dataclass(frozen=True)
class Rule:
    # As in differences.md
    name: str
    # From the difference and the context (runner.Context)
    allows: Callable
    # Whether the two servers hold different things from here on, so that the sequence has to end.
    ends: bool = False


# Questions to a context


def _answers(context, java: tuple, ours: int) -> bool:
    return context.java.status in java and context.ours.status == ours


def _posted(context) -> dict:
    """The instance of the last registration in JSON; empty where there is none to be read."""
    for request in reversed([*context.before, context.request]):
        if request.method == "POST" and re.match(r"/eureka(/v[12])?/apps/", request.target):
            try:
                instance = json.loads(request.body)["instance"]
                return instance if isinstance(instance, dict) else {}
            except (ValueError, KeyError, TypeError):
                return {}
    return {}


def _is_register(context) -> bool:
    return context.request.method == "POST" and "/apps/" in context.request.target


def _is_batch(context) -> bool:
    return _is_batch_of(context.request, "")


def _is_batch_of(request, action: str) -> bool:
    return "peerreplication/batch" in request.target and action in str(request.body)


def _writes(context) -> list:
    return [request for request in [*context.before, context.request] if request.method not in ("GET", "HEAD", "OPTIONS")]


def _is_list(context) -> bool:
    """Whether the Java server answers from its cache."""
    return context.request.method == "GET" and bool(re.match(r"/eureka(/v2)?/(apps(/|/[^/]*/?)?|s?vips/[^/]*/?)(\?.*)?$", context.request.target))


def _key(difference) -> str:
    return re.split(r"[.\]]", difference.where)[-1]


def _query(context, name: str) -> str | None:
    match = re.search(rf"[?&]{name}=([^&]*)", context.request.target)
    return match[1] if match else None


def _has_key(difference, *names: str) -> bool:
    return difference.where.rpartition(".")[2] in names


# The rules


def _vary(difference, context):
    return difference.where == "header:vary" and difference.java is None and difference.ours == "accept-encoding"


def _error_page(difference, context):
    return difference.where == "error page" and difference.ours == "" and context.java.status == context.ours.status


def _head_in_allow(difference, context):
    return difference.where == "header:allow" and difference.java and sorted([*difference.java, "HEAD"]) == difference.ours


def _options(difference, context):
    return context.request.method == "OPTIONS" and _answers(context, (200,), 204) and difference.where != "header:allow"


def _fallback_id(difference, context):
    return _has_key(difference, "instanceId") and difference.java in (ABSENT, "") and difference.about in (difference.ours, "")


def _gzip_request(difference, context):
    return context.request.compressed and _is_register(context) and _answers(context, (400,), 204)


def _bare_port(difference, context):
    def odd(port):
        return port is not None and (not isinstance(port, dict) or not port.keys() <= {"$", "@enabled"})

    return _is_register(context) and _answers(context, (400,), 204) and any(odd(_posted(context).get(key)) for key in ("port", "securePort"))


def _null_metadata(difference, context):
    metadata = _posted(context).get("metadata") or {}
    if ".metadata" not in difference.where:
        return False
    key = _key(difference)
    return (key in metadata and metadata[key] is None and (difference.java, difference.ours) == ("null", ABSENT)) or (
        key == "@class" and set(metadata.values()) == {None}
    )


def _nested_metadata(difference, context):
    metadata = _posted(context).get("metadata") or {}
    return ".metadata" in difference.where and any(isinstance(value, dict | list) for value in metadata.values())


_KNOWN_OBJECTS = {"port", "securePort", "dataCenterInfo", "leaseInfo", "metadata"}


def _unknown_nested_key(difference, context):
    return _is_register(context) and _answers(context, (400,), 204) and any(isinstance(value, dict | list) for key, value in _posted(context).items() if key not in _KNOWN_OBJECTS)


def _amazon_without_metadata(difference, context):
    center = _posted(context).get("dataCenterInfo") or {}
    return center.get("@class", "").endswith("AmazonInfo") and not center.get("metadata") and difference.java == ABSENT


def _amazon_by_its_marker(difference, context):
    center = _posted(context).get("dataCenterInfo") or {}
    return center.get("name") == "Amazon" and center.get("@class", "").endswith("DefaultDataCenterInfo") and context.java.body == b""


def _lease_of_words(difference, context):
    return difference.java == ABSENT and any("<leaseInfo><durationInSecs>x<" in str(request.body) for request in context.before)


def _center_class(difference, context):
    center = _posted(context).get("dataCenterInfo")
    return _is_register(context) and _answers(context, (400,), 204) and isinstance(center, dict) and "@class" not in center


def _center_with_more(difference, context):
    center = _posted(context).get("dataCenterInfo")
    return _is_register(context) and _answers(context, (400,), 204) and isinstance(center, dict) and not center.keys() <= {"@class", "name"}


def _after_the_end(difference, context):
    if not _is_register(context) or not _answers(context, (204,), 400):
        return False
    try:
        json.JSONDecoder().raw_decode(context.request.body)
        return not _posted(context)
    except (ValueError, TypeError):
        return False


def _another_root(difference, context):
    return _is_register(context) and _answers(context, (500,), 400) and context.request.body.startswith("<application>")


def _bad_heartbeat(difference, context):
    time, override = _query(context, "lastDirtyTimestamp"), _query(context, "overriddenstatus")
    odd = (time is not None and not _is_long(time)) or (override is not None and not _is_status(override))
    return context.request.method == "PUT" and "/status" not in context.request.target and odd and _answers(context, (200, 404, 500), 400)


def _bad_status_call(difference, context):
    value, time = _query(context, "value"), _query(context, "lastDirtyTimestamp")
    odd = (context.request.method == "PUT" and value is None) or (value is not None and not _is_status(value)) or (time is not None and not _is_long(time))
    return "/status" in context.request.target and odd and _answers(context, (200, 404, 500), 400)


def _is_long(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+", text) is not None and -(2**63) <= int(text) < 2**63


def _is_status(text: str) -> bool:
    return text in ("UP", "DOWN", "STARTING", "OUT_OF_SERVICE", "UNKNOWN")


def _versionless_xml(difference, context):
    apart = difference.java == "DOWN" and difference.ours in ("OUT_OF_SERVICE", "UNKNOWN")
    return apart and difference.where == "instance.status" and not _is_list(context)


def _override_of_a_heartbeat(difference, context):
    """An override that a heartbeat brought, or a status that a heartbeat corrected by it, is a change of ours, and none of Java's."""

    def heartbeat(request):
        return request.method == "PUT" and re.search(r"/apps/[^/]+/[^/?]+(\?.*)?$", request.target) or _is_batch_of(request, '"Heartbeat"')

    brought = any(heartbeat(request) and ("overriddenstatus=" in request.target or "overriddenStatus" in str(request.body)) for request in _writes(context))
    return brought and (_has_key(difference, *_OVERRIDE, "versions__delta(changed)") or "leaseInfo" in difference.where or difference.where.endswith("instance[]"))


def _lease_times_of_lists(difference, context):
    return _is_list(context) and _has_key(difference, "lastRenewalTimestamp")


def _unchanged_metadata(difference, context):
    writes = _writes(context)
    changed = ("registrationTimestamp", "lastRenewalTimestamp", "lastUpdatedTimestamp", "actionType", "versions__delta(changed)", "instance[]")
    return bool(writes) and "/metadata" in writes[-1].target and _has_key(difference, *changed)


def _slash_in_a_segment(difference, context):
    return bool(re.search(r"%2[fF]|%5[cC]", context.request.target)) and context.java.status == 400 and context.java.body.startswith(b"<!doctype")


def _path_only_of_ours(difference, context):
    target = context.request.target
    known = re.match(r"/eureka/(v1|V[12])/", target) or re.match(r"/eureka(/v2)?/(serverinfo|healthcheck)", target) or "//" in target
    return bool(known) and context.java.status == 404


def _label(difference, context):
    """The Java server labels by one rule, even in the client's spelling, and writes by another."""
    accept = context.request.header("accept") or ""
    if difference.where == "header:content-type":
        return difference.java == accept and accept.lower().startswith(difference.ours or "-")
    return _is_list(context) and difference.where == "kind" and ("JSON" in accept or "json" in accept and "xml" in accept)


def _accidental_key(difference, context):
    return _has_key(difference, "registeredApplicationsEmpty") and difference.ours == ABSENT


def _characters(difference, context):
    return isinstance(difference.java, str) and re.search(r"&#x(?!d;)[0-9a-f]+;", difference.java) is not None and "\ufffd" in str(difference.ours)


def _key_without_element(difference, context):
    return difference.where == "kind" and "<>" in str(difference.java) and isinstance(context.comparison.ours.tree, Element)


def _shared_override(difference, context):
    """Two applications of the sequence have an instance of one id, or a cancel found nothing."""
    ids: dict = {}
    for request in context.before:
        match = re.match(r"/eureka(?:/v2)?/apps/([^/?]+)(?:/([^/?]+))?", request.target)
        if match:
            id = match[2] or next(iter(re.findall(r'instanceId(?:": "|>)([^"<]*)', str(request.body))), "")
            ids.setdefault(id, set()).add(match[1].upper())
    ids.pop("", None)
    return any(len(applications) > 1 for applications in ids.values()) and _has_key(difference, *_OVERRIDE)


def _reserved_names(difference, context):
    return "/apps/ALL_APPS" in context.request.target and _answers(context, (200,), 404)


def _stale_vip(difference, context):
    key = (context.request.target, context.request.header("accept"), context.request.header("x-eureka-accept"))
    before = [(request.target, request.header("accept"), request.header("x-eureka-accept")) for request in context.before]
    return "vips/" in context.request.target and key in before


def _batch_status(difference, context):
    return _is_batch(context) and _has_key(difference, "statusCode") and difference.ours == 400 and difference.java in (404, 500)


def _batch_without_time(difference, context):
    return _is_batch(context) and _has_key(difference, "statusCode") and difference.java == 500 and "DeleteStatusOverride" in context.request.body


def _batch_unknown_key(difference, context):
    return _is_batch(context) and _answers(context, (400,), 200) and '"more"' in context.request.body


def _batch_wrapped(difference, context):
    return _is_batch(context) and _answers(context, (200,), 400) and '"instanceInfo": {"instance"' in context.request.body


def _batch_without_list(difference, context):
    return _is_batch(context) and _answers(context, (500,), 400) and context.request.body == "{}"


def _batch_in_xml(difference, context):
    return _is_batch(context) and context.comparison.java.text.startswith("<com.netflix") and context.comparison.ours.kind == "json"


def _status_page(difference, context):
    return context.request.target == "/eureka/status" and not difference.where.startswith("header:content-type") or (
        context.request.target == "/eureka/status" and _answers(context, (500,), 200)
    )


def _delta_order(difference, context):
    """Applications by name; within one the present instances first, each of both in the order of their last change."""
    applications = difference.where == "applications.application(order)" and difference.ours == sorted(difference.ours)
    return "/apps/delta" in context.request.target and (applications or difference.where.endswith("instance(gone last)"))


def _compressed(difference, context):
    return difference.where == "header:content-encoding" and (difference.java, difference.ours) == (None, "gzip") and "gzip" in (context.request.header("accept-encoding") or "")


def _later_in_the_batch(difference, context):
    """An instance beside a 409 is shown as later items of the batch left it."""
    if not _is_batch(context) or "responseEntity" not in difference.where:
        return False
    ids = [entry.get("id") for entry in json.loads(context.request.body)["replicationList"]]
    return len(set(ids)) < len(ids)


def _unknown_comes_back(difference, context):
    writes = _writes(context)
    registered = bool(writes) and writes[-1].method == "POST" and "/apps/" in writes[-1].target and writes[-1].header("x-netflix-discovery-replication") != "true"
    known = _has_key(difference, "status") and difference.java == "UNKNOWN" or _has_key(difference, "serviceUpTimestamp") and str(difference.java) == "0"
    return registered and (known or _has_key(difference, "apps__hashcode") and "UNKNOWN" in difference.java)


def _eviction_tick(difference, context):
    times = [str(difference.java), str(difference.ours)]
    if not context.waited or not _has_key(difference, "evictionTimestamp", "lastUpdatedTimestamp") or not all(time.isdigit() for time in times):
        return False
    # The interval of both, and a second for a busy machine.
    return abs(int(times[0]) - int(times[1])) < 4000


RULES: list = [
    Rule("vary", _vary),
    Rule("D-9", _error_page),
    Rule("allow-head", _head_in_allow),
    Rule("options", _options),
    Rule("B22", _fallback_id),
    Rule("gzip-request", _gzip_request, ends=True),
    Rule("REST-30", _bare_port, ends=True),
    Rule("REST-37", _null_metadata),
    Rule("B6", _nested_metadata),
    Rule("REST-39", _unknown_nested_key, ends=True),
    Rule("D-3-amazon", _amazon_without_metadata, ends=True),
    Rule("D-1", _amazon_by_its_marker, ends=True),
    Rule("D-3-lease", _lease_of_words, ends=True),
    Rule("B8", _center_class, ends=True),
    Rule("center-with-more", _center_with_more, ends=True),
    Rule("text-after-json", _after_the_end, ends=True),
    Rule("another-root", _another_root),
    Rule("REST-53", _bad_heartbeat, ends=True),
    Rule("REST-63", _bad_status_call, ends=True),
    Rule("D-8", _versionless_xml),
    Rule("K-11", _override_of_a_heartbeat, ends=True),
    Rule("lease-times", _lease_times_of_lists),
    Rule("S17", _unchanged_metadata, ends=True),
    Rule("encoded-slash", _slash_in_a_segment, ends=True),
    Rule("D-10", _path_only_of_ours),
    Rule("D-7", _label),
    Rule("registeredApplicationsEmpty", _accidental_key),
    Rule("D-2-character", _characters),
    Rule("D-2-key", _key_without_element, ends=True),
    Rule("K-4", _shared_override, ends=True),
    Rule("D-12", _reserved_names),
    Rule("D-11", _stale_vip),
    Rule("REST-134", _batch_status, ends=True),
    Rule("REST-135", _batch_without_time, ends=True),
    Rule("batch-keys", _batch_unknown_key, ends=True),
    Rule("batch-wrapped", _batch_wrapped, ends=True),
    Rule("batch-without-list", _batch_without_list),
    Rule("batch-xml", _batch_in_xml),
    Rule("D-4", _status_page),
    Rule("B55", _delta_order),
    Rule("gzip-everything", _compressed),
    Rule("K-10", _later_in_the_batch),
    Rule("unknown-registers-again", _unknown_comes_back, ends=True),
    Rule("eviction-tick", _eviction_tick),
]
