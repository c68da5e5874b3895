#!/usr/bin/env bash
# The figures of docs/PERFORMANCE.md. Usage: scripts/bench.sh [RUNS]; needs `cargo build --release --workspace --bins` before.
# Server and load generator share the machine; what is compared runs in turn, and medians over the runs are printed.
set -euo pipefail
cd "$(dirname "$0")/.."

RUNS=${1:-5}
BIN=${BIN:-target/release}
WORK=$(mktemp -d)
HTTP=${HTTP:-127.0.0.1:18761}
BARE=${BARE:-127.0.0.1:18762}
trap 'jobs -p | xargs -r kill 2>/dev/null; wait; rm -rf "$WORK"' EXIT

# Starts a program in the background and waits until it is ready; its process id is in PID.
ready() { until curl -sf -m 1 -o /dev/null "http://$1"; do sleep 0.02; done; }
start_node() { "$BIN/heureka" --log-level error --http-listen "$HTTP" --grpc-listen "unix:$WORK/node" & PID=$!; ready "$HTTP/readyz"; }
start_split() {
  "$BIN/registry-core" --log-level error --grpc-listen "unix:$WORK/registry" &
  "$BIN/cache-sync" --log-level error --grpc-listen "unix:$WORK/cache" --registry "unix:$WORK/registry" &
  "$BIN/http-facade" --log-level error --http-listen "$HTTP" --grpc-listen "unix:$WORK/facade" --registry "unix:$WORK/registry" --cache "unix:$WORK/cache" & PID=$!
  ready "$HTTP/readyz"
}
start_bare() { "$BIN/fleet" bare --listen "$BARE" "$@" >/dev/null & BARE_PID=$!; ready "$BARE/"; }
stop() { jobs -p | xargs -r kill 2>/dev/null || true; wait; }

fleet() { "$BIN/fleet" "$@" --json 2>/dev/null; }
# A figure of a report, by its path.
value() { python3 -c 'import functools, json, sys; print(functools.reduce(dict.get, sys.argv[1].split("."), json.loads(sys.stdin.readlines()[-1])))' "$1"; }
median() { sort -g | awk '{v[NR]=$1} END {print (NR % 2) ? v[(NR+1)/2] : (v[NR/2]+v[NR/2+1])/2}'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", a / b}'; }

renewals() {
  echo "## Renewals: CPU per request, one process against the bare server"
  start_node; start_bare
  fleet register --target "$HTTP" --instances 10000 --apps 100 >/dev/null
  : >"$WORK/node.cpu"; : >"$WORK/bare.cpu"; : >"$WORK/one.rate"
  for _ in $(seq "$RUNS"); do
    fleet renew --target "$HTTP" --instances 10000 --apps 100 --flat-out --duration 3s --pid "$PID" >"$WORK/out"
    value server.cpu_us_per_request <"$WORK/out" >>"$WORK/node.cpu"; value requests_per_second <"$WORK/out" >>"$WORK/one.rate"
    fleet renew --target "$BARE" --instances 10000 --apps 100 --flat-out --duration 3s --pid "$BARE_PID" | value server.cpu_us_per_request >>"$WORK/bare.cpu"
  done
  stop
  local node bare; node=$(median <"$WORK/node.cpu"); bare=$(median <"$WORK/bare.cpu")
  echo "heureka $node us, bare $bare us, ratio $(ratio "$node" "$bare")"

  echo "## Renewals: requests per second, three processes over unix sockets against one process"
  : >"$WORK/one.rate"; : >"$WORK/split.rate"
  for _ in $(seq "$RUNS"); do
    for wiring in node split; do
      "start_$wiring"
      fleet register --target "$HTTP" --instances 10000 --apps 100 >/dev/null
      fleet renew --target "$HTTP" --instances 10000 --apps 100 --flat-out --duration 3s | value requests_per_second >>"$WORK/$wiring.rate"
      stop
    done
  done
  local one split; one=$(median <"$WORK/node.rate"); split=$(median <"$WORK/split.rate")
  echo "one process $one /s, three processes $split /s, ratio $(ratio "$split" "$one")"
}

full_registry() {
  echo "## Full registry of 10,000 instances, gzip: against a bare server that sends the same bytes"
  start_node
  fleet register --target "$HTTP" --instances 10000 --apps 100 >/dev/null
  curl -s -H 'Accept: application/json' -H 'Accept-Encoding: gzip' -o "$WORK/full.gz" "http://$HTTP/eureka/apps/"
  start_bare --body "$WORK/full.gz" --encoding gzip
  : >"$WORK/node.rate"; : >"$WORK/bare.rate"
  for _ in $(seq "$RUNS"); do
    fleet fetch --target "$HTTP" --what full --format json --gzip true --duration 3s | value requests_per_second >>"$WORK/node.rate"
    fleet fetch --target "$BARE" --what full --format json --gzip true --duration 3s | value requests_per_second >>"$WORK/bare.rate"
  done
  stop
  local node bare; node=$(median <"$WORK/node.rate"); bare=$(median <"$WORK/bare.rate")
  echo "body $(stat -c %s "$WORK/full.gz") bytes; heureka $node /s, bare $bare /s, ratio $(ratio "$node" "$bare")"
}

change_cost() {
  echo "## One registration: server CPU until the gzip full payload at the new revision is ready to send, microseconds"
  local size apps
  for size in 1000 10000 100000; do
    for apps in 1 $((size / 10)); do
      : >"$WORK/cost"
      for _ in $(seq "$RUNS"); do
        start_node
        fleet register --target "$HTTP" --instances "$size" --apps "$apps" >/dev/null
        fleet change-cost --target "$HTTP" --pid "$PID" --instances "$size" --apps "$apps" --samples 60 --new --format json | value change_cpu_us.p50 >>"$WORK/cost"
        stop
      done
      echo "$size instances in $apps applications: $(median <"$WORK/cost")"
    done
  done
}

memory() {
  echo "## Resident memory 200 s after registering and one gzip read of the full registry, MiB"
  local size
  for size in 10000 100000; do
    start_node
    fleet register --target "$HTTP" --instances "$size" --apps $((size / 100)) >/dev/null
    curl -s -H 'Accept: application/json' -H 'Accept-Encoding: gzip' -o /dev/null "http://$HTTP/eureka/apps/"
    sleep 200
    echo "$size instances: $(awk '/VmRSS/ {printf "%.0f", $2 / 1024}' "/proc/$PID/status"), at most $(awk '/VmHWM/ {printf "%.0f", $2 / 1024}' "/proc/$PID/status")"
    stop
  done
}

registrations() {
  echo "## Registrations: 10,000 and 100,000 new instances flat out over 64 connections, server CPU each"
  local size
  for size in 10000 100000; do
    : >"$WORK/rate"; : >"$WORK/cpu"
    for _ in $(seq "$RUNS"); do
      start_node
      fleet register --target "$HTTP" --instances "$size" --apps $((size / 100)) --pid "$PID" >"$WORK/out"
      value requests_per_second <"$WORK/out" >>"$WORK/rate"; value server.cpu_us_per_request <"$WORK/out" >>"$WORK/cpu"
      stop
    done
    echo "$size instances: $(median <"$WORK/rate") /s, $(median <"$WORK/cpu") us"
  done
}

full_xml() {
  echo "## Full registry of 10,000 instances as XML, gzip and plain: requests per second, bytes, server CPU each"
  start_node
  fleet register --target "$HTTP" --instances 10000 --apps 100 >/dev/null
  local gzip
  for gzip in true false; do
    : >"$WORK/rate"; : >"$WORK/cpu"
    for _ in $(seq "$RUNS"); do
      fleet fetch --target "$HTTP" --what full --format xml --gzip "$gzip" --duration 3s --pid "$PID" >"$WORK/out"
      value requests_per_second <"$WORK/out" >>"$WORK/rate"; value server.cpu_us_per_request <"$WORK/out" >>"$WORK/cpu"
    done
    echo "gzip $gzip: $(median <"$WORK/rate") /s, $(value body_bytes_largest <"$WORK/out") bytes, $(median <"$WORK/cpu") us"
  done
  stop
}

# A full window of changes first: the delta holds three minutes.
delta() {
  echo "## Delta under churn: 100 changes a second among 100,000 instances, then 100 reads a second beside it"
  start_node
  fleet register --target "$HTTP" --instances 100000 --apps 1000 >/dev/null
  fleet churn --target "$HTTP" --instances 100000 --apps 1000 --rate 100 --duration 200s >/dev/null
  fleet churn --target "$HTTP" --instances 100000 --apps 1000 --rate 100 --duration 30s --pid "$PID" >"$WORK/out"
  echo "changes alone: $(share) % of a core"
  curl -s -H 'Accept: application/json' -H 'Accept-Encoding: gzip' -o "$WORK/delta.gz" "http://$HTTP/eureka/apps/delta"
  fleet churn --target "$HTTP" --instances 100000 --apps 1000 --rate 100 --duration 30s --pid "$PID" >"$WORK/out"
  echo "changes with the delta held by the read-only cache: $(share) % of a core"
  fleet churn --target "$HTTP" --instances 100000 --apps 1000 --rate 100 --duration 40s >/dev/null &
  local churn=$!
  fleet fetch --target "$HTTP" --what delta --rate 100 --duration 30s --pid "$PID" >"$WORK/out"
  echo "changes and reads: $(share) % of a core; the delta has $(value body_bytes_largest <"$WORK/out") bytes as gzip, read in $(value latency_us.p50 <"$WORK/out") us, p99 $(value latency_us.p99 <"$WORK/out") us"
  wait "$churn"; stop
}
# The server's share of one core in the run whose report is in $WORK/out.
share() { awk -v used="$(value server.cpu_seconds <"$WORK/out")" -v seconds="$(value seconds <"$WORK/out")" 'BEGIN {printf "%.1f", 100 * used / seconds}'; }

resident() { awk '/VmRSS/ {printf "%.1f", $2 / 1024}' "/proc/$PID/status"; }
flat() {
  echo "## Resident memory, MiB: 10,000 renewals a second for ten minutes, each minute; then 200,000 reads of unknown names"
  start_node
  fleet register --target "$HTTP" --instances 100000 --apps 1000 >/dev/null
  for _ in $(seq 11); do
    fleet renew --target "$HTTP" --instances 100000 --apps 1000 --interval 10s --duration 60s --pid "$PID" >"$WORK/out"
    echo "$(value requests_per_second <"$WORK/out") renewals/s, failed $(value failed <"$WORK/out"), $(share) % of a core: $(resident)"
  done
  for _ in 1 2 3 4; do
    fleet fetch --target "$HTTP" --what unknown --count 50000 --duration 60s --allow-errors >"$WORK/out"
    echo "$(value statuses <"$WORK/out") of unknown names: $(resident)"
  done
  stop
}

start_up() {
  echo "## From start to ready, milliseconds; size of the binary"
  : >"$WORK/start"
  for _ in $(seq "$RUNS"); do
    local before after
    before=$(date +%s%N); start_node; after=$(date +%s%N)
    echo $(((after - before) / 1000000)) >>"$WORK/start"
    stop
  done
  echo "$(median <"$WORK/start") ms; $(stat -c %s "$BIN/heureka") bytes"
}

for part in ${PARTS:-renewals registrations full_registry full_xml delta change_cost start_up memory flat}; do "$part"; done
