"""Sends sequences to both servers, looks at their whole state after every write, and shortens what fails. Used by run.py."""

import dataclasses
import json
import time
from collections import Counter

from compare import ABSENT, Comparison, Times
from rules import RULES
from wire import TAG, Answer, Connection, Request

JSON = ("Accept", "application/json")
XML = ("Accept", "application/xml")
ALL = Request("GET", "/eureka/apps", (JSON,))
DELTA = Request("GET", "/eureka/apps/delta", (JSON,))
ALL_XML = Request("GET", "/eureka/apps", (XML,))
DELTA_XML = Request("GET", "/eureka/apps/delta", (XML,))


# How long a change may take to be seen in a list.
SECONDS_OF_PUSH = 0.5


@dataclasses.dataclass(frozen=True)
class Until:
    """Sends a request until both servers answer it with a status; at most that many seconds."""

    request: Request
    status: int
    seconds: float

    def __str__(self):
        return f"until {self.status}: {self.request}"


@dataclasses.dataclass
class Failure:
    step: int
    request: Request
    java: Answer
    ours: Answer
    differences: list
    # The steps that led to it
    steps: list = dataclasses.field(default_factory=list)

    @property
    def signature(self) -> tuple:
        return tuple(sorted({difference.where for difference in self.differences}))


class Context:
    """What a rule may look at beside the difference: the request, the answers, and what was sent before."""

    def __init__(self, tag: str):
        self.tag = tag
        self.request: Request | None = None
        self.java: Answer | None = None
        self.ours: Answer | None = None
        self.before: list = []
        # Whether time was given to evict something.
        self.waited = False
        self.comparison: Comparison | None = None


class Runner:
    def __init__(self, java_port: int, port: int):
        self._java = Connection(java_port)
        self._ours = Connection(port)
        self._runs = 0
        self.fired = Counter()
        self.requests = 0
        self.steps = 0
        self.cut_short = 0
        # Reads that were made again because a change was not seen yet, and the longest time until it was.
        self.again = 0
        self.late = 0.0

    def exchange(self, request: Request, tag: str) -> tuple:
        encoded = request.encode(tag)
        self._java.send(encoded, request.method)
        self._ours.send(encoded, request.method)
        self.requests += 2
        # Both work on it at the same time.
        try:
            return self._java.receive(), self._ours.receive()
        except TimeoutError as error:
            self._java.close()
            self._ours.close()
            raise TimeoutError(f"no answer to {request}") from error

    def run(self, steps: list, count: bool = True) -> Failure | None:
        """The first step at which something differs that no rule allows; None if nothing does."""
        self._runs += 1
        tag = f"Z{self._runs}Z"
        context, times = Context(tag), Times()
        deltas: dict = {}
        try:
            for number, step in enumerate(steps):
                if isinstance(step, Until):
                    self._until(step, tag, times)
                    context.waited = True
                    continue
                if count:
                    self.steps += 1
                looks = [step]
                if step.method not in ("GET", "HEAD", "OPTIONS"):
                    looks += [ALL_XML, DELTA_XML] if number % 5 == 4 else [ALL, DELTA]
                for look in looks:
                    failure, ends = self._step(number, look, context, times, deltas, count)
                    if failure is not None:
                        failure.steps = steps[: number + 1]
                        return failure
                    if ends:
                        self.cut_short += count
                        return None
            return None
        finally:
            self._clear(context)

    def _step(self, number: int, request: Request, context: Context, times: Times, deltas: dict, count: bool) -> tuple:
        """What fails at a request, if anything does, and whether the sequence has to end."""
        began = time.monotonic()
        while True:
            rules, open_differences = self._compare(request, context, times, deltas)
            late = time.monotonic() - began
            # Changes are pushed to the lists, which takes a moment on a busy machine.
            if not open_differences or request.method != "GET" or late > SECONDS_OF_PUSH:
                break
            time.sleep(0.02)
            self.late = max(self.late, time.monotonic() - began)
            self.again += 1
        context.before.append(request)
        if open_differences:
            return Failure(number, request, context.java, context.ours, open_differences), False
        if count:
            self.fired.update(rule.name for rule in rules)
        return None, any(rule.ends for rule in rules)

    def _compare(self, request: Request, context: Context, times: Times, deltas: dict) -> tuple:
        java, ours = self.exchange(request, context.tag)
        times.step(java, ours)
        comparison = Comparison(request, java, ours, times, context.tag)
        context.request, context.java, context.ours, context.comparison = request, java, ours, comparison
        _versions(request, comparison, deltas)
        rules, open_differences = [], []
        for difference in comparison.differences:
            rule = next((rule for rule in RULES if rule.allows(difference, context)), None)
            if rule is None:
                open_differences.append(difference)
            else:
                rules.append(rule)
        return rules, open_differences

    def _until(self, step: Until, tag: str, times: Times):
        deadline = time.monotonic() + step.seconds
        while True:
            java, ours = self.exchange(step.request, tag)
            times.step(java, ours)
            if java.status == ours.status == step.status or time.monotonic() > deadline:
                return
            time.sleep(0.03)

    def _clear(self, context: Context):
        """Cancels whatever either of the two holds, and whatever the sequence named, as overrides outlive failed cancels."""
        leases = set()
        for answer in self.exchange(ALL, context.tag):
            if answer.status == 200 and answer.body:
                for application in json.loads(answer.body)["applications"]["application"]:
                    leases |= {(application["name"], instance.get("instanceId") or instance["hostName"]) for instance in application["instance"]}
        if not leases:
            return
        items = [{"appName": application, "id": instance, "action": "Cancel"} for application, instance in sorted(leases)]
        body = json.dumps({"replicationList": items})
        self.exchange(Request("POST", "/eureka/peerreplication/batch/", (("Content-Type", "application/json"), JSON), body), context.tag)

    def shorten(self, failure: Failure, attempts: int = 60) -> Failure:
        """Leaves out steps as long as it fails in the same way."""
        size = max(1, len(failure.steps) // 2)
        while size:
            start = 0
            while start < len(failure.steps) and attempts:
                steps = failure.steps[:start] + failure.steps[start + size :]
                attempts -= 1
                again = self.run(steps, count=False) if steps else None
                if again is not None and set(again.signature) & set(failure.signature):
                    failure = again
                else:
                    start += size
            size //= 2
        return failure


def _versions(request: Request, comparison: Comparison, deltas: dict):
    """The numbers of deltas are each server's own; what must agree is whether two reads of one kind got the same number."""
    if "/apps/delta" not in request.target:
        return
    found = []
    for body in (comparison.java, comparison.ours):
        if body.kind == "json" and isinstance(body.tree, dict):
            found.append(body.tree.get("applications", {}).get("versions__delta", ABSENT))
        elif body.kind == "xml":
            found.append(body.tree.child("versions__delta"))
        else:
            return
    kept = [difference for difference in comparison.differences if not difference.where.endswith("applications.versions__delta")]
    key = (request.target, request.header("accept"), request.header("x-eureka-accept"), request.header("accept-encoding"))
    before = deltas.get(key)
    deltas[key] = found
    comparison.differences[:] = kept
    if before is not None:
        changed = [now != then for now, then in zip(found, before)]
        if changed[0] != changed[1]:
            comparison.differ("applications.versions__delta(changed)", *changed)
