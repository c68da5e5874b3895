"""Runs the five-minute tour of the README as printed. Usage: tour.py FOLDER_OF_THE_BINARIES

Every command must succeed and print something, and what the README prints below it must be among that. The lines with grpcurl are
skipped, and this says so, where there is no grpcurl.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from wirings import free_port, heureka

ROOT = Path(__file__).resolve().parents[2]


def blocks(readme: str):
    """The fenced blocks of the tour: language and lines."""
    tour = re.search(r"^## Five minutes$(.*?)^## ", readme, re.MULTILINE | re.DOTALL).group(1)
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```", tour, re.MULTILINE | re.DOTALL):
        yield language, text.splitlines()


def commands(lines: list[str]):
    """The commands of a console block, each with the output that is printed below it."""
    for start in (at for at, line in enumerate(lines) if line.startswith("$ ")):
        command, rest = lines[start][2:], lines[start + 1 :]
        while subprocess.run(["bash", "-n", "-c", command], capture_output=True).returncode != 0:
            command += "\n" + rest.pop(0)
        printed = []
        while rest and not rest[0].startswith("$ "):
            printed.append(rest.pop(0))
        yield command, printed


def run_console(lines: list[str], place, environment: dict):
    variables = ""
    for command, printed in commands(lines):
        title = command.splitlines()[0]
        if re.fullmatch(r"\w+=\S+", command):
            variables += command + "\n"
            continue
        if command.startswith("grpcurl") and shutil.which("grpcurl", path=environment["PATH"]) is None:
            print(f"skipped, no grpcurl   {title}")
            continue
        done = subprocess.run(["bash", "-c", variables + place(command)], capture_output=True, text=True, env=environment, timeout=60)
        # A stream has no end: it is cut off after the time that the command names.
        ended = done.returncode == 0 or "-max-time" in command
        missing = [line for line in printed if line not in done.stdout.replace("\r", "")]
        if not ended or missing or not (printed or done.stdout.strip()):
            sys.exit(f"FAILED ({done.returncode})  {command}\nnot printed: {missing}\n{done.stdout}{done.stderr}")
        print(f"ok                    {title}")


def main(binaries: str):
    tools = os.pathsep.join([str(ROOT / "target/tools"), os.environ["PATH"]])
    environment = dict(os.environ, PATH=tools)
    grpc = f"localhost:{free_port()}"
    with heureka("one-process", binaries, grpc=grpc) as base:
        http = base.removeprefix("http://")

        def place(text: str) -> str:
            return text.replace("localhost:8761", http).replace("localhost:7100", grpc)

        for language, lines in blocks((ROOT / "README.md").read_text()):
            if language == "console":
                run_console(lines, place, environment)
            elif language == "python":
                subprocess.run([sys.executable, "-c", place("\n".join(lines))], check=True, timeout=60, stdout=subprocess.DEVNULL)
                print("ok                    the Python client")
            else:
                sys.exit(f"nobody knows how to run {language}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
