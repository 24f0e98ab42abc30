#!/bin/sh
# Makes this machine a node of a fleet: curl -fsSL ADMIN/install.sh | sudo sh -s -- --key KEY
#
# An admin serves this, with the other files of this directory and what it knows itself in place of the lines that begin
# with #@ (api/install/script.ts). Everything is functions until the last line, so that a copy that was cut does nothing.
# shellcheck disable=SC2317 # act calls functions by their names
set -euf # -f: nothing here is a pattern of files, and URLs may hold brackets
umask 022

#@facts

#@include words.sh
#@include options.sh
#@include machine.sh
#@include places.sh
#@include download.sh
#@include programs.sh
#@include settings.sh
#@include services.sh
#@include health.sh
#@include removal.sh

#@files

main() {
  read_options "$@"
  choose_places
  if [ "$ACTION" = uninstall ]; then
    uninstall
    return
  fi
  check_machine
  check_key
  check_release
  check_room
  begin_work
  install_programs
  install_settings
  install_services
  if [ "$START" = no ]; then
    say_not_started
    return
  fi
  start_services
  wait_until_healthy
}

{ main "$@" </dev/null; exit; }
