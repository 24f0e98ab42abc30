#!/bin/sh
# What the packages of edge-agent do besides being there: setup first|upgrade|remove, and lay-out [--replace].
# They bring the first version alone: which version runs is the updater's from then on, and no upgrade changes it.
set -eu

PACKED=/usr/lib/edge-agent/first
RUNTIME=/usr/lib/edge-runtime/bin/node
STATE=/var/lib/edge-updater
DATA=/var/lib/edge-agent
CONFIGURATION=/etc/edge-agent/agent.env

# shellcheck source=deploy/packages/files/services.sh
. "${0%/*}/services.sh"

is_configured() {
  grep -Eq '^ENROLLMENT_KEY(_FILE)?=.' "$CONFIGURATION" 2>/dev/null || [ -s "$DATA/identity.json" ]
}

# The version of this package beside those that are there. Its runtime is the file of edge-runtime, by a second name
# where that can be: it takes no room then, and stays when edge-runtime is upgraded.
lay_out() {
  name=$(ls "$PACKED/versions")
  read -r runtime <"$PACKED/runtime"
  mkdir -p "$STATE/versions" "$STATE/runtimes/$runtime"
  chmod 755 "$STATE" "$STATE/versions" "$STATE/runtimes" "$STATE/runtimes/$runtime"
  if [ ! -e "$STATE/runtimes/$runtime/node" ]; then
    [ "$(sha256sum <"$RUNTIME")" = "$runtime  -" ] || {
      echo "edge-agent: $RUNTIME is not the one for this version: install the edge-runtime that came with it" >&2
      exit 1
    }
    rm -f "$STATE/runtimes/$runtime/node.new"
    ln "$RUNTIME" "$STATE/runtimes/$runtime/node.new" 2>/dev/null ||
      cp -p "$RUNTIME" "$STATE/runtimes/$runtime/node.new"
    mv -f "$STATE/runtimes/$runtime/node.new" "$STATE/runtimes/$runtime/node"
  fi
  if [ ! -e "$STATE/versions/$name" ]; then
    rm -rf "$STATE/versions/$name.new"
    cp -R "$PACKED/versions/$name" "$STATE/versions/$name.new"
    mv "$STATE/versions/$name.new" "$STATE/versions/$name"
  fi
  sync
  rm -f "$STATE/current.new"
  ln -s "versions/$name" "$STATE/current.new"
  mv -fT "$STATE/current.new" "$STATE/current"
}

# Machines trust the root of releases that they were installed with; a newer one comes by updates.
trust_root() {
  [ -r /usr/lib/edge-agent/root.json ] && [ ! -e "$STATE/trust/root.json" ] || return 0
  install -d -m 0700 "$STATE/trust"
  cp /usr/lib/edge-agent/root.json "$STATE/trust/root.json"
}

case ${1:-} in
first)
  install -d -m 0700 "$DATA"
  [ -L "$STATE/current" ] || lay_out
  trust_root
  if has_systemd; then systemctl daemon-reload; fi
  if has_systemd && is_configured; then
    systemctl enable --quiet edge-agent.service
    service start edge-agent.service
  else
    echo "edge-agent is installed and not started: put ENROLLMENT_KEY=... (edge key create CLUSTER prints it) into $CONFIGURATION, then: systemctl enable --now edge-agent"
  fi
  ;;
upgrade)
  # neither the version nor the running agent is touched: a restart would end commands that run
  [ -L "$STATE/current" ] || lay_out
  trust_root
  if has_systemd; then systemctl daemon-reload; fi
  ;;
remove)
  if has_systemd; then
    service stop edge-agent.service
    systemctl disable --quiet edge-agent.service || true
  fi
  ;;
lay-out)
  if [ "${2:-}" != --replace ] && [ -L "$STATE/current" ]; then
    echo "edge-agent: $(readlink "$STATE/current") is there already: $0 lay-out --replace takes $(ls "$PACKED/versions") in its place" >&2
    exit 1
  fi
  lay_out
  ;;
*)
  echo "usage: $0 first|upgrade|remove|lay-out [--replace]" >&2
  exit 2
  ;;
esac
