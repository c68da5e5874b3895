"""Runs every client's story against a heureka process and prints a table: client, version, step, result.

    run.sh [HEUREKA] [--proxy MODE] [--only FOLDER,FOLDER...] [--table FILE]

HEUREKA is the binary; without it HEUREKA_BIN, else target/release/heureka, else target/debug/heureka, else it is built.
A folder here with an executable `run` takes part. It gets HEUREKA_BIN and, with --proxy, CONFORMANCE_PROXY (a mode of
proxy.py); it prints a line `client<TAB>version<TAB>step<TAB>result` for each step, where the result is `ok`, `skipped: why`
or anything else, which is a failure. What it writes to stderr is shown as it is. The exit code is 0 if nothing failed.
"""

import argparse
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDERS = ("wire", "python", "node", "go", "yardstick", "java")
PROXY_MODES = ("ok-for-no-content", "body-on-404")
# Those that compare servers, or look at bytes, and hence have nothing to say about a proxy.
WITHOUT_PROXY = ("yardstick",)
# Beyond that a folder hangs.
LIMIT = 1800


def binary(named: str | None) -> str:
    named = named or os.environ.get("HEUREKA_BIN")
    if named:
        return os.path.abspath(named)
    built = [os.path.join(ROOT, "target", profile, "heureka") for profile in ("release", "debug")]
    found = next((path for path in built if os.path.exists(path)), None)
    if found is None:
        subprocess.run(["cargo", "build", "--bin", "heureka"], cwd=ROOT, check=True)
        found = built[1]
    return found


def rows_of(folder: str, environment: dict):
    """What a folder's `run` prints, row by row, and a row of our own where it ends badly."""
    process = subprocess.Popen(
        ["timeout", str(LIMIT), os.path.join(HERE, folder, "run")], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment, text=True
    )
    failed = printed = 0
    for line in process.stdout:
        row = line.rstrip("\n").split("\t")
        if len(row) != 4:
            sys.stderr.write(line)
            continue
        printed += 1
        failed += is_failure(row)
        yield row
    code = process.wait()
    if code and not failed:
        yield [folder, "-", "run", f"FAILED: exit code {code}"]
    elif not printed:
        yield [folder, "-", "run", "FAILED: no row"]


def is_failure(row: list) -> bool:
    return row[3] != "ok" and not row[3].startswith("skipped: ")


def line_of(row: list) -> str:
    return f"{row[0]:<24} {row[1]:<10} {row[2]:<68} {row[3]}".rstrip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heureka", nargs="?")
    parser.add_argument("--proxy", choices=PROXY_MODES)
    parser.add_argument("--only", help="folders, separated by commas")
    parser.add_argument("--table", help="a file that gets the table, too")
    options = parser.parse_args()
    environment = os.environ | {"HEUREKA_BIN": binary(options.heureka)}
    environment.pop("CONFORMANCE_PROXY", None)
    if options.proxy:
        environment["CONFORMANCE_PROXY"] = options.proxy
    wanted = options.only.split(",") if options.only else FOLDERS
    rows, began = [], time.monotonic()
    print(line_of(["client", "version", "step", "result"]))
    for folder in wanted:
        if options.proxy and folder in WITHOUT_PROXY:
            continue
        here = [[folder, "-", "run", "skipped: there is none"]]
        if os.access(os.path.join(HERE, folder, "run"), os.X_OK):
            here = rows_of(folder, environment)
        for row in here:
            rows.append(row)
            print(line_of(row), flush=True)
    if options.table:
        with open(options.table, "w", encoding="utf-8") as table:
            table.writelines(line_of(row) + "\n" for row in [["client", "version", "step", "result"], *rows])
    failed = [row for row in rows if is_failure(row)]
    skipped = [row for row in rows if row[3].startswith("skipped: ")]
    red = sorted({row[0] for row in failed})
    print(f"\n{time.monotonic() - began:.0f} s; red: {', '.join(red) or 'none'}", flush=True)
    print(f"{len(rows) - len(failed) - len(skipped)} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
