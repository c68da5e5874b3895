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


# The first one that allows a difference counts.
RULES: list = []


def _rule(name: str, ends: bool = False):
    def add(allows: Callable) -> Callable:
        RULES.append(Rule(name, allows, ends))
        return allows

    return add


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


def _only_we_take(context) -> bool:
    return _is_register(context) and _answers(context, (400,), 204)


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


@_rule("vary")
def _vary(difference, context):
    return difference.where == "header:vary" and difference.java is None and difference.ours == "accept-encoding"


@_rule("D-9")
def _error_page(difference, context):
    return difference.where == "error page" and difference.ours == "" and context.java.status == context.ours.status


@_rule("allow-head")
def _head_in_allow(difference, context):
    return difference.where == "header:allow" and difference.java and sorted([*difference.java, "HEAD"]) == difference.ours


@_rule("options")
def _options(difference, context):
    return context.request.method == "OPTIONS" and _answers(context, (200,), 204) and difference.where != "header:allow"


@_rule("B22")
def _fallback_id(difference, context):
    return _has_key(difference, "instanceId") and difference.java in (ABSENT, "") and difference.about in (difference.ours, "")


@_rule("gzip-request", ends=True)
def _gzip_request(difference, context):
    return context.request.compressed and _only_we_take(context)


@_rule("REST-30", ends=True)
def _bare_port(difference, context):
    def odd(port):
        return port is not None and (not isinstance(port, dict) or not port.keys() <= {"$", "@enabled"})

    return _only_we_take(context) and any(odd(_posted(context).get(key)) for key in ("port", "securePort"))


@_rule("REST-37")
def _null_metadata(difference, context):
    metadata = _posted(context).get("metadata") or {}
    if ".metadata" not in difference.where:
        return False
    key = _key(difference)
    return (key in metadata and metadata[key] is None and (difference.java, difference.ours) == ("null", ABSENT)) or (
        key == "@class" and set(metadata.values()) == {None}
    )


@_rule("B6")
def _nested_metadata(difference, context):
    metadata = _posted(context).get("metadata") or {}
    return ".metadata" in difference.where and any(isinstance(value, dict | list) for value in metadata.values())


_KNOWN_OBJECTS = {"port", "securePort", "dataCenterInfo", "leaseInfo", "metadata"}


@_rule("REST-39", ends=True)
def _unknown_nested_key(difference, context):
    return _only_we_take(context) and any(isinstance(value, dict | list) for key, value in _posted(context).items() if key not in _KNOWN_OBJECTS)


@_rule("D-3-amazon", ends=True)
def _amazon_without_metadata(difference, context):
    center = _posted(context).get("dataCenterInfo") or {}
    return center.get("@class", "").endswith("AmazonInfo") and not center.get("metadata") and difference.java == ABSENT


@_rule("D-1", ends=True)
def _amazon_by_its_marker(difference, context):
    center = _posted(context).get("dataCenterInfo") or {}
    return center.get("name") == "Amazon" and center.get("@class", "").endswith("DefaultDataCenterInfo") and context.java.body == b""


@_rule("D-3-lease", ends=True)
def _lease_of_words(difference, context):
    return difference.java == ABSENT and any("<leaseInfo><durationInSecs>x<" in str(request.body) for request in context.before)


@_rule("B8", ends=True)
def _center_class(difference, context):
    center = _posted(context).get("dataCenterInfo")
    return _only_we_take(context) and isinstance(center, dict) and "@class" not in center


@_rule("center-with-more", ends=True)
def _center_with_more(difference, context):
    center = _posted(context).get("dataCenterInfo")
    return _only_we_take(context) and isinstance(center, dict) and not center.keys() <= {"@class", "name"}


@_rule("text-after-json", ends=True)
def _after_the_end(difference, context):
    if not _is_register(context) or not _answers(context, (204,), 400):
        return False
    try:
        json.JSONDecoder().raw_decode(context.request.body)
        return not _posted(context)
    except (ValueError, TypeError):
        return False


@_rule("another-root")
def _another_root(difference, context):
    return _is_register(context) and _answers(context, (500,), 400) and context.request.body.startswith("<application>")


@_rule("REST-53", ends=True)
def _bad_heartbeat(difference, context):
    time, override = _query(context, "lastDirtyTimestamp"), _query(context, "overriddenstatus")
    odd = (time is not None and not _is_long(time)) or (override is not None and not _is_status(override))
    return context.request.method == "PUT" and "/status" not in context.request.target and odd and _answers(context, (200, 404, 500), 400)


@_rule("REST-63", ends=True)
def _bad_status_call(difference, context):
    value, time = _query(context, "value"), _query(context, "lastDirtyTimestamp")
    odd = (context.request.method == "PUT" and value is None) or (value is not None and not _is_status(value)) or (time is not None and not _is_long(time))
    return "/status" in context.request.target and odd and _answers(context, (200, 404, 500), 400)


def _is_long(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+", text) is not None and -(2**63) <= int(text) < 2**63


def _is_status(text: str) -> bool:
    return text in ("UP", "DOWN", "STARTING", "OUT_OF_SERVICE", "UNKNOWN")


@_rule("D-8")
def _versionless_xml(difference, context):
    apart = difference.java == "DOWN" and difference.ours in ("OUT_OF_SERVICE", "UNKNOWN")
    return apart and difference.where == "instance.status" and not _is_list(context)


@_rule("K-11", ends=True)
def _override_of_a_heartbeat(difference, context):
    """An override that a heartbeat brought, or a status that a heartbeat corrected by it, is a change of ours, and none of Java's."""

    def heartbeat(request):
        return request.method == "PUT" and re.search(r"/apps/[^/]+/[^/?]+(\?.*)?$", request.target) or _is_batch_of(request, '"Heartbeat"')

    brought = any(heartbeat(request) and ("overriddenstatus=" in request.target or "overriddenStatus" in str(request.body)) for request in _writes(context))
    return brought and (_has_key(difference, *_OVERRIDE, "versions__delta(changed)") or "leaseInfo" in difference.where or difference.where.endswith("instance[]"))


@_rule("lease-times")
def _lease_times_of_lists(difference, context):
    return _is_list(context) and _has_key(difference, "lastRenewalTimestamp")


@_rule("S17", ends=True)
def _unchanged_metadata(difference, context):
    writes = _writes(context)
    changed = ("registrationTimestamp", "lastRenewalTimestamp", "lastUpdatedTimestamp", "actionType", "versions__delta(changed)", "instance[]")
    return bool(writes) and "/metadata" in writes[-1].target and _has_key(difference, *changed)


@_rule("encoded-slash", ends=True)
def _slash_in_a_segment(difference, context):
    return bool(re.search(r"%2[fF]|%5[cC]", context.request.target)) and context.java.status == 400 and context.java.body.startswith(b"<!doctype")


@_rule("D-10")
def _path_only_of_ours(difference, context):
    target = context.request.target
    known = re.match(r"/eureka/(v1|V[12])/", target) or re.match(r"/eureka(/v2)?/(serverinfo|healthcheck)", target) or "//" in target
    return bool(known) and context.java.status == 404


@_rule("D-7")
def _label(difference, context):
    """The Java server labels by one rule, even in the client's spelling, and writes by another."""
    accept = context.request.header("accept") or ""
    if difference.where == "header:content-type":
        return difference.java == accept and accept.lower().startswith(difference.ours or "-")
    return _is_list(context) and difference.where == "kind" and ("JSON" in accept or "json" in accept and "xml" in accept)


@_rule("registeredApplicationsEmpty")
def _accidental_key(difference, context):
    return _has_key(difference, "registeredApplicationsEmpty") and difference.ours == ABSENT


@_rule("D-2-character")
def _characters(difference, context):
    return isinstance(difference.java, str) and re.search(r"&#x(?!d;)[0-9a-f]+;", difference.java) is not None and "\ufffd" in str(difference.ours)


@_rule("D-2-key", ends=True)
def _key_without_element(difference, context):
    return difference.where == "kind" and "<>" in str(difference.java) and isinstance(context.comparison.ours.tree, Element)


@_rule("K-4", ends=True)
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


@_rule("D-12")
def _reserved_names(difference, context):
    return "/apps/ALL_APPS" in context.request.target and _answers(context, (200,), 404)


@_rule("D-11")
def _stale_vip(difference, context):
    key = (context.request.target, context.request.header("accept"), context.request.header("x-eureka-accept"))
    before = [(request.target, request.header("accept"), request.header("x-eureka-accept")) for request in context.before]
    return "vips/" in context.request.target and key in before


@_rule("REST-134", ends=True)
def _batch_status(difference, context):
    return _is_batch(context) and _has_key(difference, "statusCode") and difference.ours == 400 and difference.java in (404, 500)


@_rule("REST-135", ends=True)
def _batch_without_time(difference, context):
    return _is_batch(context) and _has_key(difference, "statusCode") and difference.java == 500 and "DeleteStatusOverride" in context.request.body


@_rule("batch-keys", ends=True)
def _batch_unknown_key(difference, context):
    return _is_batch(context) and _answers(context, (400,), 200) and '"more"' in context.request.body


@_rule("batch-wrapped", ends=True)
def _batch_wrapped(difference, context):
    return _is_batch(context) and _answers(context, (200,), 400) and '"instanceInfo": {"instance"' in context.request.body


@_rule("batch-without-list")
def _batch_without_list(difference, context):
    return _is_batch(context) and _answers(context, (500,), 400) and context.request.body == "{}"


@_rule("batch-xml")
def _batch_in_xml(difference, context):
    return _is_batch(context) and context.comparison.java.text.startswith("<com.netflix") and context.comparison.ours.kind == "json"


@_rule("D-4")
def _status_page(difference, context):
    return context.request.target == "/eureka/status" and not difference.where.startswith("header:content-type") or (
        context.request.target == "/eureka/status" and _answers(context, (500,), 200)
    )


@_rule("B55")
def _delta_order(difference, context):
    """Applications by name; within one the present instances first, each of both in the order of their last change."""
    applications = difference.where == "applications.application(order)" and difference.ours == sorted(difference.ours)
    return "/apps/delta" in context.request.target and (applications or difference.where.endswith("instance(gone last)"))


@_rule("gzip-everything")
def _compressed(difference, context):
    return difference.where == "header:content-encoding" and (difference.java, difference.ours) == (None, "gzip") and "gzip" in (context.request.header("accept-encoding") or "")


@_rule("K-10")
def _later_in_the_batch(difference, context):
    """An instance beside a 409 is shown as later items of the batch left it."""
    if not _is_batch(context) or "responseEntity" not in difference.where:
        return False
    ids = [entry.get("id") for entry in json.loads(context.request.body)["replicationList"]]
    return len(set(ids)) < len(ids)


@_rule("unknown-registers-again", ends=True)
def _unknown_comes_back(difference, context):
    writes = _writes(context)
    registered = bool(writes) and writes[-1].method == "POST" and "/apps/" in writes[-1].target and writes[-1].header("x-netflix-discovery-replication") != "true"
    known = _has_key(difference, "status") and difference.java == "UNKNOWN" or _has_key(difference, "serviceUpTimestamp") and str(difference.java) == "0"
    return registered and (known or _has_key(difference, "apps__hashcode") and "UNKNOWN" in difference.java)


@_rule("eviction-tick")
def _eviction_tick(difference, context):
    times = [str(difference.java), str(difference.ours)]
    if not context.waited or not _has_key(difference, "evictionTimestamp", "lastUpdatedTimestamp") or not all(time.isdigit() for time in times):
        return False
    # The interval of both, and a second for a busy machine.
    return abs(int(times[0]) - int(times[1])) < 4000
