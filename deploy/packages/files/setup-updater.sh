#!/bin/sh
# What the packages of edge-updater do besides being there: setup first|upgrade|remove.
set -eu

STATE=/var/lib/edge-updater
UPDATING=/var/lib/edge-agent/updating.json

# shellcheck source=deploy/packages/files/services.sh
. "${0%/*}/services.sh"

# 32 random bytes as hexadecimal digits, which agent and updater share. One that is there stays.
write_token() {
  [ ! -s "$STATE/token" ] || return 0
  mkdir -p "$STATE"
  (
    umask 077
    od -An -v -tx1 -N 32 /dev/urandom | tr -d ' \n' >"$STATE/token.new"
  )
  mv -f "$STATE/token.new" "$STATE/token"
}

# An update that is being watched is left alone: it is to be finished by the updater that began it.
is_updating() {
  until=$(sed -n 's/.*"until": *\([0-9][0-9]*\).*/\1/p' "$UPDATING" 2>/dev/null || true)
  [ -n "$until" ] && [ "$until" -gt "$(date +%s)000" ]
}

case ${1:-} in
first)
  write_token
  if has_systemd; then
    systemctl daemon-reload
    systemctl enable --quiet edge-updater.service
  fi
  if [ ! -e "$STATE/trust/root.json" ]; then
    echo 'edge-updater is installed and not started: it trusts no releases yet. Fetch root.json of your releases, then: edge-updater bootstrap --root root.json && systemctl start edge-updater'
  elif has_systemd; then
    service start edge-updater.service
  fi
  ;;
upgrade)
  write_token
  if has_systemd; then
    systemctl daemon-reload
    if is_updating; then
      echo 'edge-updater watches an update and is not restarted: systemctl restart edge-updater, once that is done'
    else
      service try-restart edge-updater.service
    fi
  fi
  ;;
remove)
  if has_systemd; then
    service stop edge-updater.service
    systemctl disable --quiet edge-updater.service || true
  fi
  ;;
*)
  echo "usage: $0 first|upgrade|remove" >&2
  exit 2
  ;;
esac
