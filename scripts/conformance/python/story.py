"""The story of two services with py-eureka-client. Runs inside stage.py, in the virtual environment that `run` makes."""

import importlib.metadata
import json
import os
import subprocess
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from outside import call, reads, wait_for  # noqa: E402

VERSION = importlib.metadata.version("py-eureka-client")
DIRECT = os.environ["DIRECT_URL"]
APP = "PY-STORY"
WITNESS = "witness"


class Member:
    def __init__(self, name: str, port: int):
        self.name = name
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "member.py")
        self._process = subprocess.Popen([sys.executable, program, name, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, command: str, argument: str = ""):
        self._process.stdin.write(json.dumps([command, argument]) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        # What its own loop meets meanwhile is no answer to a look at what it has.
        if "error" in answer or ("errors" in answer and command not in ("application", "hold", "held", "release")):
            raise AssertionError(f"{self.name}, {command}: {answer}")
        return answer["value"]

    def seen(self) -> dict:
        return self.ask("application", APP)

    def sees(self, what: str, name: str, condition):
        wait_for(f"{self.name} sees {what}", lambda: (seen := self.seen().get(name)) and condition(seen))

    def end(self):
        self._process.stdin.close()
        self._process.wait(timeout=10)


def stored(name: str) -> dict | None:
    return (call("GET", f"{DIRECT}/apps/{APP}/{name}")[1] or {}).get("instance")


def has_status(name: str, status: str):
    return lambda: (instance := stored(name)) and instance["status"] == status


def control(what: str, one: Member, two: Member, then: str):
    """Kills or starts the server, and tells both clients' loops to hold or to go on."""
    assert call("POST", os.environ["CONTROL_URL"] + what)[0] == 204
    one.ask(then)
    two.ask(then)


def register_witness():
    """An instance with the same lease whose heart does not beat."""
    sent = {key: value for key, value in stored("one").items() if key not in ("instanceId", "hostName", "lastDirtyTimestamp")}
    assert call("POST", f"{DIRECT}/apps/{APP}", {"instance": sent | {"instanceId": WITNESS, "hostName": "w.test"}})[0] == 204


def story():
    one, two = Member("one", 9001), Member("two", 9002)
    one.ask("start")
    assert stored("one")["status"] == "UP", stored("one")
    assert stored("one")["metadata"]["who"] == "one" and stored("one")["leaseInfo"]["durationInSecs"] == 3, stored("one")
    yield "registers (JSON) and is UP"

    two.ask("start")
    two.sees("the first one in its first read", "one", lambda seen: seen["status"] == "UP" and seen["port"] == 9001)
    one.sees("the second one", "two", lambda seen: seen["status"] == "UP")
    yield "a second instance of the application finds it, and is found"

    assert two.ask("vip", "py-vip").keys() == {"one", "two"}, two.ask("vip", "py-vip")
    yield "is found by VIP"

    one.ask("status", "OUT_OF_SERVICE")
    assert stored("one")["status"] == "OUT_OF_SERVICE", stored("one")
    two.sees("it out of service", "one", lambda seen: seen["status"] == "OUT_OF_SERVICE")
    one.ask("status", "UP")
    two.sees("it back", "one", lambda seen: seen["status"] == "UP")
    yield "goes OUT_OF_SERVICE and back by status_update"

    one.ask("status", "OUT_OF_SERVICE")
    two.sees("it out of service", "one", lambda seen: seen["status"] == "OUT_OF_SERVICE")
    one.ask("delete override")
    wait_for("UP again", has_status("one", "UP"))
    two.sees("it back", "one", lambda seen: seen["status"] == "UP")
    yield "is back by delete_status_override"

    one.sees("itself", "one", lambda seen: seen["status"] == "UP")
    full, delta = reads(DIRECT, "all"), reads(DIRECT, "all_delta")
    assert call("PUT", f"{DIRECT}/apps/{APP}/one/metadata?who=changed&new=%C3%BC")[0] == 200
    two.sees("the metadata", "one", lambda seen: seen["metadata"].get("who") == "changed" and seen["metadata"].get("new") == "ü")
    assert reads(DIRECT, "all_delta") > delta and reads(DIRECT, "all") == full, (full, reads(DIRECT, "all"), delta, reads(DIRECT, "all_delta"))
    yield "sees changed metadata by delta, without another full read"

    register_witness()
    two.sees("a lease without heartbeats", WITNESS, lambda seen: seen["status"] == "UP")
    wait_for("the lease without heartbeats ends", lambda: stored(WITNESS) is None)
    assert stored("one") and stored("two")
    wait_for("the other one sees it gone", lambda: WITNESS not in two.seen())
    yield "a lease of 3 s stays while heartbeats come, and only then"

    # Not while a round of theirs is under way: where registering fails and the read right after it works, this version
    # waits for a lock that it holds itself, and its loop never goes on.
    control("/kill", one, two, "hold")
    for member in (one, two):
        wait_for(f"{member.name} has noticed", lambda: member.ask("held"))
    control("/start", one, two, "release")
    for name in ("one", "two"):
        wait_for(f"{name} is back", has_status(name, "UP"))
    two.sees("the first one", "one", lambda seen: seen["status"] == "UP" and seen["metadata"]["who"] == "one")
    yield "server killed and restarted empty: is back by itself, and found again"

    renewed = stored("two")["leaseInfo"]["lastRenewalTimestamp"]
    # Right after a heartbeat there is a second until the next: the client's loop would register again.
    wait_for("a heartbeat", lambda: stored("two")["leaseInfo"]["lastRenewalTimestamp"] > renewed)
    two.ask("stop")
    two.end()
    assert stored("two") is None, stored("two")
    wait_for("the first one sees it gone", lambda: "two" not in one.seen())
    renewed = stored("one")["leaseInfo"]["lastRenewalTimestamp"]
    wait_for("a heartbeat", lambda: stored("one")["leaseInfo"]["lastRenewalTimestamp"] > renewed)
    one.ask("stop")
    one.end()
    assert call("GET", f"{DIRECT}/apps/{APP}")[0] == 404
    assert call("GET", f"{DIRECT}/apps/")[1]["applications"]["application"] == []
    yield "deregisters and is gone"


def main() -> int:
    last = "the start"
    try:
        for step in story():
            print("py-eureka-client", VERSION, step, "ok", sep="\t", flush=True)
            last = step
    except (AssertionError, KeyError, TypeError, OSError) as error:
        line = traceback.extract_tb(error.__traceback__)[1].lineno
        text = " ".join(f"line {line}: {type(error).__name__} {error}".split())
        print("py-eureka-client", VERSION, f"what follows: {last}", f"FAILED: {text[:300]}", sep="\t", flush=True)
        return 1
    return 0


sys.exit(main())
