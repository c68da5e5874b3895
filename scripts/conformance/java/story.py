"""The story of three Spring applications: two instances of one name, and a consumer. Runs inside ../stage.py.

    story.py TRAIN TRANSPORT

TRAIN is a folder here, TRANSPORT one of member.py's; `run` has built the class paths. What the applications log is part
of the story: see logs.py.
"""

import os
import re
import sys
import tempfile
import traceback
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import logs  # noqa: E402
from member import BUILT, Member  # noqa: E402
from outside import call, reads, wait_for  # noqa: E402

DIRECT = os.environ["DIRECT_URL"]
APP, CONSUMER = "story-provider", "story-consumer"


def stored(member: Member) -> dict | None:
    path = f"{DIRECT}/apps/{member.app.upper()}/{urllib.parse.quote(member.name, safe='')}"
    return (call("GET", path)[1] or {}).get("instance")


def is_up(member: Member) -> bool:
    instance = stored(member)
    return instance is not None and instance["status"] == "UP"


def control(what: str):
    assert call("POST", os.environ["CONTROL_URL"] + what)[0] == 204, what


def set_status(member: Member, status: str):
    code, _ = call("POST", f"{member.url}/actuator/serviceregistry", {"status": status})
    assert code == 200, f"serviceregistry endpoint: {code}"


def story(one: Member, two: Member, consumer: Member):
    members = (one, two, consumer)
    both = {one.name, two.name}

    def found() -> dict:
        return consumer.ask("found", of=APP)

    def callees() -> set:
        return set(consumer.ask("calls", "GET", to=APP, times=6))

    with logs.expecting(logs.NOT_REGISTERED):
        for member in members:
            member.start()
        for member in members:
            member.wait_until_started()
        assert one.ask("transport") == one.transport.factory, one.ask("transport")
        for member in members:
            wait_for(f"{member.name} is UP in the registry", lambda: is_up(member))
        instance = stored(one)
        assert instance["port"] == {"$": one.port, "@enabled": "true"} and instance["vipAddress"] == APP, instance
        assert instance["leaseInfo"]["renewalIntervalInSecs"] == 1 and instance["metadata"]["who"] == "one", instance
        yield "registers (also with enforced registration at start) and becomes UP"

        wait_for("the consumer finds both", lambda: found().keys() == both)
        assert found()[one.name]["uri"] == f"http://127.0.0.1:{one.port}", found()
        for member in (one, two):
            wait_for(f"{member.name} finds both", lambda: member.ask("found", of=APP).keys() == both)
            wait_for(f"{member.name} finds the consumer", lambda: len(member.ask("found", of=CONSUMER)) == 1)
    yield "all find each other through DiscoveryClient"

    assert callees() == both, callees()
    yield "calls go to both through the load balancer"

    set_status(one, "OUT_OF_SERVICE")
    assert stored(one)["status"] == "OUT_OF_SERVICE", stored(one)
    wait_for("the consumer sees it", lambda: consumer.ask("statuses", of=APP).get(one.name) == "OUT_OF_SERVICE")
    wait_for("the consumer finds the other one only", lambda: found().keys() == {two.name})
    assert callees() == {two.name}, callees()
    renewed = stored(one)["leaseInfo"]["lastRenewalTimestamp"]
    wait_for("a heartbeat", lambda: stored(one)["leaseInfo"]["lastRenewalTimestamp"] > renewed)
    assert stored(one)["status"] == "OUT_OF_SERVICE", stored(one)
    yield "goes OUT_OF_SERVICE through the serviceregistry endpoint, stays so, and is not called"

    set_status(one, "UP")
    wait_for("the consumer finds both", lambda: found().keys() == both)
    yield "is back with UP through the endpoint"

    set_status(one, "OUT_OF_SERVICE")
    wait_for("the consumer finds the other one only", lambda: found().keys() == {two.name})
    with logs.expecting(logs.NOT_REGISTERED):
        set_status(one, "CANCEL_OVERRIDE")
        wait_for("it is UP", lambda: is_up(one))
    wait_for("the consumer finds both", lambda: found().keys() == both)
    assert callees() == both, callees()
    yield "is back with CANCEL_OVERRIDE, and called"

    full, delta = reads(DIRECT, "all"), reads(DIRECT, "all_delta")
    with logs.expecting(logs.NOT_REGISTERED):
        one.ask("metadata", "POST", key="flavour", value="süß <&> 日本")
        wait_for("the consumer sees it", lambda: found()[one.name]["metadata"].get("flavour") == "süß <&> 日本")
    assert found()[one.name]["metadata"]["who"] == "one", found()
    assert reads(DIRECT, "all_delta") > delta and reads(DIRECT, "all") == full, (full, reads(DIRECT, "all"), delta, reads(DIRECT, "all_delta"))
    yield "changed metadata arrive by delta, without another full read"

    with logs.expecting(logs.OUTAGE):
        control("/kill")
        for member in members:
            wait_for(f"{member.name} has noticed", member.log.has_noticed_the_outage)
        assert found().keys() == both and callees() == both, found()
        yield "server killed: both are still found, and called"

        control("/start")
        for member in members:
            wait_for(f"{member.name} is back", lambda: is_up(member), 30)
        assert stored(one)["metadata"]["flavour"] == "süß <&> 日本", stored(one)
        one.ask("metadata", "POST", key="again", value="yes")
        for member in members:
            wait_for(f"{member.name} finds both", lambda: member.ask("found", of=APP).keys() == both)
            wait_for(f"{member.name} sees the change", lambda: member.ask("found", of=APP)[one.name]["metadata"].get("again") == "yes")
            wait_for(f"{member.name} finds the consumer", lambda: len(member.ask("found", of=CONSUMER)) == 1)
        assert callees() == both, callees()
    yield "server started empty: all are back by themselves, and found again"

    with logs.expecting(logs.NOT_REGISTERED):
        two.stop()
    assert stored(two) is None, stored(two)
    wait_for("the consumer does not find it", lambda: found().keys() == {one.name})
    assert callees() == {one.name}, callees()
    yield "shuts down gracefully and is gone"

    with logs.expecting(logs.NOT_REGISTERED):
        one.stop()
        consumer.stop()
    assert call("GET", f"{DIRECT}/apps/{APP.upper()}")[0] == 404
    assert call("GET", f"{DIRECT}/apps/")[1]["applications"]["application"] == []
    yield "all shut down: the registry is empty"


def main(train: str, transport: str) -> int:
    # target/conformance/java/story-TRAIN names the train's version of spring-cloud-netflix in its class path.
    class_path = open(os.path.join(BUILT, f"story-{train}", "default.cp"), encoding="utf-8").read()
    version = re.search(r"spring-cloud-netflix-eureka-client-([^/:]+)\.jar", class_path)[1]
    client = f"{train} {transport}"
    failed = 0

    def row(step: str, result: str):
        print(client, version, step, result, sep="\t", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        one = Member(train, transport, APP, "one", folder, ["--eureka.client.should-enforce-registration-at-init=true"])
        two = Member(train, transport, APP, "two", folder, [])
        consumer = Member(train, transport, CONSUMER, "consumer", folder, [])
        last = "the start"
        try:
            for step in story(one, two, consumer):
                row(step, "ok")
                last = step
        except (AssertionError, KeyError, TypeError, OSError) as error:
            line = traceback.extract_tb(error.__traceback__)[1].lineno
            text = " ".join(f"line {line}: {type(error).__name__} {error}".split())
            row(f"what follows: {last}", f"FAILED: {text[:300]}")
            failed += 1
        finally:
            for member in (one, two, consumer):
                member.kill()
        unexpected = [line for member in (one, two, consumer) for line in member.log.unexpected()]
        for line in unexpected[:20]:
            print(f"{client}: {line}", file=sys.stderr)
        row("nothing unexpected in the logs", f"FAILED: {len(unexpected)} lines, the first: {unexpected[0][:200]}" if unexpected else "ok")
        if keep := os.environ.get("CONFORMANCE_LOGS"):
            for member in (one, two, consumer):
                member.log.copy_to(os.path.join(keep, f"{train}-{transport}-{member.name}.log"))
    return 1 if failed or unexpected else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
