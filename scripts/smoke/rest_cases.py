"""Runs a black-box suite of REST cases against a node. Usage: rest_cases.py FOLDER_OF_THE_BINARIES FOLDER_OF_THE_SUITE"""

import os
import subprocess
import sys

from wirings import heureka


def main(binaries: str, suite: str):
    # The suite expects Eureka's rules, and changes to be visible at once.
    with heureka("one-process", binaries, "--profile", "eureka", "--cache-push", "true") as base:
        environment = dict(os.environ, PORT=base.rsplit(":", 1)[1], PYTHONDONTWRITEBYTECODE="1")
        result = subprocess.run([sys.executable, "run.py"], cwd=suite, env=environment, timeout=300)
    sys.exit(result.returncode)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
