"""The same requests to a Spring Cloud Eureka Server and to heureka: every difference must be a line of ../differences.md.

Runs the REST cases, then random sequences; `--only TEXT` picks those whose name has the text, as `--only "random 7/12"` one that failed.
The exit code is 0 if nothing differs that is not listed and, in a full run, every listed difference was met.
"""

import argparse
import os
import re
import sys
import time

import servers
from cases import CASES, RACES
from cases_shapes import LAST
from random_steps import RandomSteps
from rules import RULES
from runner import Failure, Runner

LIST = os.path.join(servers.HERE, os.pardir, "differences.md")
# Beyond that many it is said that there are more.
MAX_REPORTS = 25


def listed() -> list:
    """The names in the first column of the table of differences."""
    with open(LIST, encoding="utf-8") as lines:
        return re.findall(r"^\| `([^`]+)` \|", lines.read(), re.M)


def report(name: str, failure: Failure):
    print(f"\nDIFFERENT {name}")
    for step in failure.steps:
        print(f"  - {step}")
    print(f"  seen at {failure.request}")
    for difference in failure.differences:
        print(f"  * {difference}")
    print(f"  java {failure.java}\n  ours {failure.ours}", flush=True)


def sequences(options):
    for name, steps in CASES.items():
        yield name, steps
    for number in range(options.sequences):
        yield f"random {options.seed}/{number}", RandomSteps(options.seed, number).steps(options.steps)
    for name, steps in LAST.items():
        yield name, steps


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heureka", help="path of the binary")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sequences", type=int, default=200)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    names = [rule.name for rule in RULES]
    if sorted(names) != sorted(listed()):
        sys.exit(f"the rules and the table of {os.path.relpath(LIST)} differ: {sorted(set(names) ^ set(listed()))}")
    ran = failed = 0
    began = time.monotonic()
    with servers.both(options.heureka) as (java_port, port):
        started = time.monotonic() - began
        runner = Runner(java_port, port)
        for name, steps in sequences(options):
            if options.only in name:
                ran += 1
                attempts = 4 if name in RACES else 1
                while attempts and (failure := runner.run(steps)) is not None:
                    attempts -= 1
                if failure is not None:
                    failed += 1
                    if failed <= MAX_REPORTS:
                        report(name, runner.shorten(failure))
    print(f"\nstarted in {started:.0f} s, then {time.monotonic() - began - started:.0f} s: {runner.steps} steps, {runner.requests} requests, {runner.cut_short} sequences ended by a listed difference")
    print(f"reads made again as a change was not seen yet: {runner.again}, the longest wait {runner.late * 1000:.0f} ms")
    silent = [name for name in names if not runner.fired[name]]
    for name in names:
        print(f"  {name:<28} {runner.fired[name] or 'never met'}")
    if silent and not options.only:
        print(f"listed, but never met: {', '.join(silent)}")
    print(f"yardstick: {ran - failed} passed, {failed} failed")
    return 1 if failed or (silent and not options.only) else 0


if __name__ == "__main__":
    sys.exit(main())
