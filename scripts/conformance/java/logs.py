"""What an application logged, and what of it nobody expected. Used by member.py and story.py.

Every WARN and ERROR counts, and every other line of the registry's client that tells of trouble: it logs much of that as INFO.
"""

import contextlib
import datetime
import re
import shutil

_LINE = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]{12})\|([A-Z]+)\|([\w.$\[\]/-]+)\|(.*)")
_CLIENT = ("com.netflix.", "org.springframework.cloud.")
_TROUBLE = re.compile(
    r"unable|fail|error|exception|refused|mismatch|do not match|unexpected|registration status: (?!204)|[Hh]eartbeat status: (?!200)|response status is (?!200)|deregister +status: (?!200)",
    re.I,
)
_UNREACHABLE = r".*(Connection refused|failed to respond|Connection reset|Broken pipe|Socket closed|Unexpected end of file|any known server|connection was closed|prematurely)"

# What is expected, as patterns of the logger and of what it says. At any time:
ALWAYS = (
    # While it shuts down.
    (r"\.TimedSupervisorTask$", r"^task supervisor shutting down, can't accept the task$"),
    # As member.py wants it.
    (r"\.ServiceInstanceListSupplierBuilder$", r"^LoadBalancerCacheManager not available, returning delegate without caching\.$"),
    # Jersey misses a library that nothing here needs.
    (r"^org\.glassfish\.jersey\.message\.internal\.MessagingBinders$", r"jakarta\.activation\.DataSource"),
)
# Its heart may beat before it has registered; where an override was removed, Eureka has no status for the instance and makes
# its client register again; and so it does with a heartbeat that tells of a change before the registration that brings it.
NOT_REGISTERED = ((r"\.DiscoveryClient$", r"Heartbeat status: 404$"),)
# While the server is away, and until everybody has read the new one:
OUTAGE = (
    (r"\.RedirectingEurekaHttpClient$", r"^Request execution error\." + _UNREACHABLE),
    (r"\.RetryableEurekaHttpClient$", r"^Request execution failed with message: " + _UNREACHABLE),
    (r"\.DiscoveryClient$", r"was unable to (send heartbeat|refresh its cache)!" + _UNREACHABLE),
    (r"\.DiscoveryClient$", r"registration failed" + _UNREACHABLE),
    (r"\.InstanceInfoReplicator$", r"^There was a problem with the instance info replicator" + _UNREACHABLE),
    (r"^reactor\.netty\.http\.client\.HttpClientConnect$", r"The connection observed an error" + _UNREACHABLE),
    *NOT_REGISTERED,
    (r"\.DiscoveryClient$", r"^The Reconcile hashcodes do not match"),
)

# When which of them was expected: patterns, from, until.
_spans = []
# How much later a client may notice.
_SLACK = datetime.timedelta(seconds=1)


def _stamp(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]


@contextlib.contextmanager
def expecting(patterns: tuple):
    """While it lasts the patterns are nothing unexpected."""
    begin = _stamp(datetime.datetime.now(datetime.timezone.utc))
    # Open until it ends.
    _spans.append((patterns, begin, "9"))
    try:
        yield
    finally:
        _spans.remove((patterns, begin, "9"))
        _spans.append((patterns, begin, _stamp(datetime.datetime.now(datetime.timezone.utc) + _SLACK)))


class Log:
    def __init__(self, name: str, path: str):
        self.name = name
        self.path = path

    def _events(self):
        """Time, level, logger, message with the first line of what follows it."""
        event = None
        with open(self.path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if match := _LINE.match(line.rstrip("\n")):
                    if event:
                        yield event
                    event = match.groups()
                elif event and line.strip() and not line.startswith("\tat "):
                    event = (*event[:3], f"{event[3]} / {line.strip()}"[:1000])
        if event:
            yield event

    def last_error(self) -> str:
        lines = [" ".join(event) for event in self._events() if event[1] == "ERROR"]
        return lines[-1][:500] if lines else "no error in its log"

    def has_noticed_the_outage(self) -> bool:
        """Whether a heartbeat and a read have failed since it began."""
        away = next(begin for patterns, begin, _ in _spans if patterns is OUTAGE)
        since = [message for time, _, _, message in self._events() if time >= away]
        return all(any(f"was unable to {what}" in message for message in since) for what in ("send heartbeat", "refresh its cache"))

    def unexpected(self) -> list:
        return [f"{self.name}: {' '.join(event)}" for event in self._events() if _is_trouble(event) and not _is_expected(event)]

    def copy_to(self, path: str):
        shutil.copyfile(self.path, path)


def _is_trouble(event) -> bool:
    _, level, logger, message = event
    return level in ("WARN", "ERROR") or (logger.startswith(_CLIENT) and _TROUBLE.search(message) is not None)


def _is_expected(event) -> bool:
    time, _, logger, message = event
    allowed = ALWAYS + sum((patterns for patterns, begin, end in _spans if begin <= time <= end), ())
    return any(re.search(where, logger) and re.search(what, message) for where, what in allowed)
