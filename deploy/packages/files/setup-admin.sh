#!/bin/sh
# What the packages of edge-admin do besides being there: setup first|upgrade|remove.
set -eu

CONFIGURATION=/etc/edge-admin/admin.env
UNITS='edge-admin.service edge-relay.service'

# shellcheck source=deploy/packages/files/services.sh
. "${0%/*}/services.sh"

is_configured() {
  grep -Eq '^ADMIN_URLS(_FILE)?=.' "$CONFIGURATION" 2>/dev/null
}

make_user() {
  getent passwd edge-admin >/dev/null ||
    useradd --system --user-group --home-dir /var/lib/edge-admin --no-create-home --shell /usr/sbin/nologin edge-admin
  install -d -o edge-admin -g edge-admin -m 0700 /var/lib/edge-admin
}

case ${1:-} in
first)
  make_user
  if has_systemd; then systemctl daemon-reload; fi
  if has_systemd && is_configured; then
    systemctl enable --quiet edge-admin.service
    service start edge-admin.service
  else
    echo "edge-admin is installed and not started: set ADMIN_URLS in $CONFIGURATION, then: systemctl enable --now edge-admin"
  fi
  ;;
upgrade)
  make_user
  if has_systemd; then
    systemctl daemon-reload
    for unit in $UNITS; do service try-restart "$unit"; done
  fi
  ;;
remove)
  if has_systemd; then
    for unit in $UNITS; do
      service stop "$unit"
      systemctl disable --quiet "$unit" || true
    done
  fi
  ;;
*)
  echo "usage: $0 first|upgrade|remove" >&2
  exit 2
  ;;
esac
