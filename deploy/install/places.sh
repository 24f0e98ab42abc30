# Where everything is, for the system or for one user.

# Where the unit of the updater takes the data of the agent to be.
USUAL_DATA=/var/lib/edge-agent

# Says in LIB that this script installed what is there.
MARK=installed-by

choose_places() {
  if [ "$SCOPE" = system ]; then
    LIB=/usr/lib/edge
    STATE=/var/lib/edge-updater
    DATA=$USUAL_DATA
    ETC=/etc/edge-agent
    BIN=/usr/local/bin
    UNITS=/etc/systemd/system
    RC=/etc/init.d
    LOGS=/var/log/edge
    RUN=/run/edge
  else
    [ -n "${HOME:-}" ] || fail 'HOME is not set: --user installs below it.'
    is_plain_path "$HOME" || fail "HOME is $HOME: --user needs one without spaces and signs that mean something to a shell."
    LIB=$HOME/.local/lib/edge
    STATE=$HOME/.local/share/edge-updater
    DATA=$HOME/.local/share/edge-agent
    ETC=$HOME/.config/edge-agent
    BIN=$HOME/.local/bin
    UNITS=$HOME/.config/systemd/user
    RC=
    LOGS=$HOME/.local/state/edge
    RUN=$HOME/.local/state/edge
  fi
  AGENT_ENV=$ETC/agent.env
  UPDATER_ENV=$ETC/updater.env
  AUTHORITY=$ETC/ca.pem
  DROP_IN=$UNITS/edge-updater.service.d/data.conf
  TOKEN_FILE=$STATE/token # made by the updater
  given=$(setting_in "$AGENT_ENV" AGENT_DATA_DIR)
  [ -z "$given" ] || DATA=$given
  [ -n "$INIT" ] || INIT=$(running_init)
  if [ "$SCOPE" = user ] && [ "$INIT" = openrc ]; then INIT=none; fi
}

is_plain_path() {
  case $1 in
  *[!A-Za-z0-9/._-]*) return 1 ;;
  /*) return 0 ;;
  *) return 1 ;;
  esac
}

# What starts services here, as it runs now.
running_init() {
  if [ "$SCOPE" = user ]; then
    if [ -d /run/systemd/system ] && has systemctl && systemctl --user show-environment >/dev/null 2>&1; then
      echo systemd
    else
      echo none
    fi
  elif [ -d /run/systemd/system ] && has systemctl; then
    echo systemd
  elif [ -e /run/openrc/softlevel ] && has rc-service; then
    echo openrc
  else
    echo none
  fi
}

# setting_in FILE NAME: its value; nothing where it is not set.
setting_in() {
  [ ! -r "$1" ] || sed -n "s/^$2=//p" "$1" | sed -n '$p' | sed "s/^'\\(.*\\)'\$/\\1/; s/^\"\\(.*\\)\"\$/\\1/"
}
