#!/bin/sh
# The updater of the version that runs, with the settings of its service where they can be read.
set -a
# shellcheck source=/dev/null
[ ! -r /etc/edge-agent/updater.env ] || . /etc/edge-agent/updater.env
[ $# -gt 0 ] || set -- --help
exec /usr/lib/edge/launch updater "$@"
