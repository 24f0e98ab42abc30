#!/usr/bin/env bash
# Runs all tests several times (five, or the first argument) while two endless loops take what processor there is. Run by hand; takes hours.
# Prints a line a run, and the failures of those that failed. Further arguments go to the tests.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/node_modules/.bin:$PATH"
runs=${1:-5}
shift || true

loops=()
for _ in 1 2; do
  (while :; do :; done) &
  loops+=($!)
done
trap 'kill "${loops[@]}"' EXIT

status=0
for run in $(seq "$runs"); do
  log=$(mktemp)
  started=$SECONDS
  node test/run.ts "$@" > "$log" 2>&1 || status=1
  echo "run $run of $runs, $((SECONDS - started)) s: $(tail -n 1 "$log")"
  grep '✘' "$log" && sed -n '/^  ─$/,$p' "$log" # what failed, and below the rule why
  rm "$log"
done
exit "$status"
