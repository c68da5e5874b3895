#!/usr/bin/env bash
# Every fuzz target under libFuzzer for some seconds (default 10), two at a time, on the stable toolchain: scripts/fuzz.sh [SECONDS] [TARGET...]
# What it finds is left in fuzz/artifacts and fails it. `cargo fuzz run TARGET`, with the nightly toolchain, does the same with sanitizers.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"

seconds=${1:-10}
shift || true
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=($(ls corpus))

# The seeds themselves are run by wire-codec's test `fuzz_seeds`, which needs none of this.
if ! command -v "${CXX:-c++}" >/dev/null; then
  echo "skipped: libFuzzer needs a C++ compiler, and there is no ${CXX:-c++}"
  exit 0
fi
host=$(rustc -vV | sed -n 's/^host: //p')
case $host in
  *-linux-gnu | *-apple-darwin) ;;
  *) echo "skipped: libFuzzer is not built for $host"; exit 0 ;;
esac

# What cargo-fuzz passes, without the sanitizers, which only the nightly toolchain has.
coverage="-Cpasses=sancov-module"
for option in level=4 inline-8bit-counters pc-table trace-compares; do coverage+=" -Cllvm-args=-sanitizer-coverage-$option"; done
RUSTFLAGS="--cfg fuzzing $coverage" cargo build --quiet --release --target "$host"

# Not in the seeds' folder: what a run learns is thrown away.
learned=$(mktemp -d)
trap 'rm -rf "$learned"' EXIT
run() {
  local target=$1 log=$learned/$1.log
  mkdir -p "artifacts/$target" "$learned/$target"
  if "target/$host/release/$target" -max_total_time="$seconds" -max_len=4096 -timeout=5 -rss_limit_mb=512 \
    -artifact_prefix="artifacts/$target/" "$learned/$target" "corpus/$target" >"$log" 2>&1; then
    echo "$target: $(grep -a '^Done' "$log")"
  else
    grep -a -v '^ \+\(at\|[0-9]\+:\)' "$log" | tail -n 40
    echo "$target: FAILED, see fuzz/artifacts/$target"
    return 1
  fi
}
export -f run
export seconds learned host
printf '%s\n' "${targets[@]}" | xargs -P 2 -I '{}' bash -c 'run {}'
