#!/bin/sh
# edge-agent and edge-updater: the program of the version that runs, with the settings of its service.
set -euf
name=${0##*/edge-}
set -a
# shellcheck source=/dev/null
[ ! -r "@ETC@/$name.env" ] || . "@ETC@/$name.env"
[ $# -gt 0 ] || set -- --help
exec '@LIB@/launch' "$name" "$@"
