#!/usr/bin/env bash
# Clients that nobody here wrote, against a heureka process: see run.py for what it takes and prints.
set -euo pipefail
exec python3 "$(dirname "$0")/run.py" "$@"
