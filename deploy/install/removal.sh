# The way back. Only what this script puts somewhere is removed.

uninstall() {
  [ "$SCOPE" = user ] || [ "$(id -u)" -eq 0 ] || fail 'This has to be run by root: put sudo before sh, or give --user where it was installed so.'
  if [ ! -e "$LIB/$MARK" ] && [ ! -d "$STATE" ] && { [ "$PURGE" = no ] || [ ! -d "$DATA" ]; }; then
    echo 'Nothing that this script installed is on this machine.'
    return
  fi
  INIT=$(sed -n 's/^install.sh [a-z]* //p' "$LIB/$MARK" 2>/dev/null || true)
  [ -n "$INIT" ] || INIT=$(running_init)
  [ "$PURGE" = no ] || refuse_mounted
  LEFT='Some of it may be gone: run this again.'
  [ "$LEAVE" = no ] || act 'remove the node at the admin, and end its commands' leave_fleet
  act 'stop the services' end_services
  [ "$PURGE" = no ] || [ "$LEAVE" = yes ] || act 'end its commands, and take back what it changed on this machine' leave_machine
  act "remove the services and the programs ($LIB, $STATE)" remove_programs
  if [ "$PURGE" = yes ]; then
    act "remove identity, data, settings and logs ($DATA, $ETC, $LOGS)" remove_data
    is_real && echo 'edge-agent is removed, with its identity, data and settings'
  elif is_real; then
    echo "edge-agent is removed; identity, data and settings are left in $DATA and $ETC (--purge removes them)"
  fi
}

# A command may have mounted something beside its script: what is there is not ours.
refuse_mounted() {
  directory=$(cd "$DATA" 2>/dev/null && pwd -P) || return 0
  while read -r _ _ _ _ place _; do
    case $place in "$directory"/*) fail "$place is mounted in $DATA, and --purge removes all that is there: umount it first." ;; esac
  done </proc/self/mountinfo
}

# They do not start at boot any more either.
end_services() {
  for name in updater agent; do
    if [ "$INIT" = systemd ]; then
      control disable --now "edge-$name.service" >/dev/null 2>&1 || true
    elif [ -x "$LIB/edge-agentctl" ]; then
      "$LIB/edge-agentctl" stop "$name" >/dev/null 2>&1 || true
      [ "$INIT" != openrc ] || rc-update -q del "edge-$name" default >/dev/null 2>&1 || true
    fi
  done
}

# leave needs the data directory for itself. Where it fails, what was stopped for it is started again, and starts at boot
# as before.
leave_fleet() {
  ran=
  for name in updater agent; do
    case $("$LIB/edge-agentctl" is-active "$name" 2>/dev/null) in active | activating | abandoned) ran="$name $ran" ;; esac
    "$LIB/edge-agentctl" stop "$name" >/dev/null 2>&1 || true
  done
  message=$("$LIB/edge-agent" leave 2>&1) || {
    for name in $ran; do "$LIB/edge-agentctl" start "$name" >/dev/null 2>&1 || true; done
    fail "The machine did not leave: $(one_line "$(printf '%s\n' "$message" | tail -n 1)")"
  }
}

leave_machine() {
  "$LIB/edge-agent" leave --local >/dev/null 2>&1 || note 'What the agent changed on this machine could not be taken back by the agent itself: it does not start.'
}

remove_programs() {
  for name in agent updater; do
    rm -f "$UNITS/edge-$name.service" "$UNITS/multi-user.target.wants/edge-$name.service" "$UNITS/default.target.wants/edge-$name.service"
    [ -z "$RC" ] || rm -f "$RC/edge-$name"
  done
  remove_drop_in
  if [ "$INIT" = systemd ]; then
    control daemon-reload >/dev/null 2>&1 || true
    control reset-failed edge-agent.service edge-updater.service >/dev/null 2>&1 || true
  fi
  for name in $COMMANDS; do
    [ "$(readlink "$BIN/$name" 2>/dev/null)" != "$LIB/$name" ] || rm -f "$BIN/$name"
  done
  for name in agent updater; do
    rm -f "$RUN/$name.pid" "$RUN/$name.child" "$RUN/$name.begun" "$RUN/$name.final"
  done
  rm -rf "$STATE" "$LIB"
  remove_empty "$RUN" "$UNITS/multi-user.target.wants" "$UNITS/default.target.wants"
}

remove_drop_in() {
  rm -f "$DROP_IN"
  remove_empty "$(dirname "$DROP_IN")"
}

remove_data() {
  rm -rf "$DATA" "$ETC" "$LOGS"
  # what --user may have made on the way; others keep theirs
  if [ "$SCOPE" = user ]; then
    remove_empty "$UNITS" "$HOME/.config/systemd" "$HOME/.config" "$BIN" "$HOME/.local/lib" "$HOME/.local/share" "$HOME/.local/state" "$HOME/.local"
  fi
}

remove_empty() {
  for directory; do rmdir "$directory" 2>/dev/null || true; done
}
