#!/usr/bin/env bash
# Dependencies point one way (docs/ARCHITECTURE.md): no service crate depends on another one, and the model depends on nothing of ours.
set -euo pipefail
cd "$(dirname "$0")/.."

# Direct dependencies of a crate within the workspace, development ones left out.
ours() { cargo tree --quiet --package "$1" --edges normal,build --depth 1 --prefix none --format '{p}' | tail -n +2 | sed -n "s/^\([a-z-]*\) v[^ ]* (\/.*/\1/p" | sort -u; }

failed=0
check() {
  local crate=$1; shift
  local dependency
  for dependency in $(ours "$crate"); do
    case " $* " in
      *" $dependency "*) ;;
      *) echo "$crate must not depend on $dependency"; failed=1 ;;
    esac
  done
}

check registry-model
check registry-proto registry-model
check wire-codec registry-model
check service-runtime registry-model
for service in registry-core cache-sync http-facade evictor; do
  check "$service" registry-model registry-proto wire-codec service-runtime
done
check heureka registry-core cache-sync http-facade evictor registry-model registry-proto service-runtime
check fleet
exit "$failed"
