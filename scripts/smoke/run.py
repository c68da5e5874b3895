"""Runs real clients against real processes, in every wiring. Usage: run.py FOLDER_OF_THE_BINARIES"""

import logging
import sys

import python_client
from wirings import WIRINGS, heureka

logging.disable(logging.WARNING)


def main(binaries: str):
    for wiring in WIRINGS:
        with heureka(wiring, binaries) as base:
            for step in python_client.run(base):
                print(f"{wiring:<12} py-eureka-client  {step:<52} ok", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
