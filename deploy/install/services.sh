# The services, in what starts services here: systemd, OpenRC, or edge-agentctl itself.

install_services() {
  act "put launch, edge-agentctl and this script into $LIB, and edge-agent, edge-updater and edge-agentctl into $BIN" install_commands
  case $INIT in
  systemd) act "put edge-agent.service$(with_updater ' and edge-updater.service') into $UNITS, and enable them" install_units ;;
  openrc) act "put edge-agent$(with_updater ' and edge-updater') into $RC, and enable them" install_rc_scripts ;;
  esac
}

with_updater() {
  [ "$UPDATER" = no ] || printf '%s' "$1"
}

services() {
  echo agent
  [ "$UPDATER" = no ] || echo updater
}

# Whether running services are older than what is there now.
RENEWED=no

# put NAME FILE MODE: a file that came with this script, with the places of this installation. The same one stays.
put() {
  "file_$1" | sed "s|@INIT@|$INIT|g; s|@SCOPE@|$SCOPE|g; s|@LIB@|$LIB|g; s|@STATE@|$STATE|g; s|@ETC@|$ETC|g; s|@DATA@|$DATA|g; s|@LOGS@|$LOGS|g; s|@RUN@|$RUN|g" >"$2.new"
  chmod "$3" "$2.new"
  if cmp -s "$2.new" "$2" 2>/dev/null; then
    rm -f "$2.new"
  else
    mv -f "$2.new" "$2"
    RENEWED=yes
  fi
}

COMMANDS='edge-agent edge-updater edge-agentctl'

install_commands() {
  mkdir -p "$LIB" "$BIN"
  put launch "$LIB/launch" 755
  put agentctl "$LIB/edge-agentctl" 755
  put command "$LIB/edge-agent" 755
  put command "$LIB/edge-updater" 755
  for name in $COMMANDS; do
    if [ ! -e "$BIN/$name" ] && [ ! -L "$BIN/$name" ]; then ln -s "$LIB/$name" "$BIN/$name"; fi
  done
  # for whoever takes all this back when no admin answers
  fetch_script
  printf 'install.sh %s %s\n' "$SCOPE" "$INIT" >"$LIB/$MARK"
}

fetch_script() {
  if fetch install.sh "$WORK/install.sh"; then
    mv -f "$WORK/install.sh" "$LIB/install.sh"
    chmod 755 "$LIB/install.sh"
  fi
}

install_units() {
  mkdir -p "$UNITS"
  for name in $(services); do
    if [ "$SCOPE" = user ]; then
      put "user_unit_$name" "$UNITS/edge-$name.service" 644
    else
      put "unit_$name" "$UNITS/edge-$name.service" 644
    fi
  done
  install_drop_in
  control daemon-reload >/dev/null 2>&1 || true
  for name in $(services); do
    control enable "edge-$name.service" >/dev/null 2>&1 || enable_by_hand "edge-$name.service"
  done
}

# The unit of the updater closes all but the usual data directory. Units of users close nothing.
install_drop_in() {
  if [ "$SCOPE$UPDATER" = systemyes ] && [ "$DATA" != "$USUAL_DATA" ]; then
    mkdir -p "$(dirname "$DROP_IN")"
    put drop_in_updater "$DROP_IN" 644
  elif [ -e "$DROP_IN" ]; then
    remove_drop_in
    RENEWED=yes
  fi
}

# In an image nothing runs that would do it. It is what systemctl enable does.
enable_by_hand() {
  if [ "$SCOPE" = user ]; then wants=$UNITS/default.target.wants; else wants=$UNITS/multi-user.target.wants; fi
  mkdir -p "$wants"
  ln -sf "$UNITS/$1" "$wants/$1"
}

control() {
  if [ "$SCOPE" = user ]; then systemctl --user "$@"; else systemctl "$@"; fi
}

install_rc_scripts() {
  mkdir -p "$RC"
  for name in $(services); do
    put "rc_$name" "$RC/edge-$name" 755
    if has rc-update; then rc-update -q add "edge-$name" default >/dev/null 2>&1 || true; fi
  done
}

start_services() {
  for name in $(services); do
    act "start edge-$name" start_service "$name"
  done
}

# One that runs is started anew only where something of it has changed: commands that run go on.
start_service() {
  LEFT="What was installed stays: edge-agentctl and $LOGS or the journal say more. Run the line again to go on, or with --uninstall --purge to take it back."
  if [ "$RENEWED$CHANGED" = nono ] && "$LIB/edge-agentctl" status "$1" >/dev/null 2>&1; then return; fi
  message=$("$LIB/edge-agentctl" restart "$1" 2>&1) || fail "The service edge-$1 does not start: $(one_line "$message")."
}

say_not_started() {
  if is_real; then
    trap - EXIT
    rm -rf "$WORK"
    echo "edge-agent is installed and not started: it enrols when its service starts ($LIB/edge-agentctl start, or the next boot)"
  fi
}
