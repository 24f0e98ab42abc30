#!/bin/sh
# edge-agentctl: starts and stops the agent and its updater, by the service manager of the machine or, where there is
# none, by itself. The installation puts its places in for the words between @.
set -uf

INIT='@INIT@'
SCOPE='@SCOPE@'
LIB='@LIB@'
ETC='@ETC@'
LOGS='@LOGS@'
RUN='@RUN@'

# Larger logs are kept once, as NAME.log.1, and begun anew. In bytes, looked at every minute.
LOG_BYTES_MAX=8388608
LOG_LOOK_S=60

# Who ends sooner after a start waits before the next one, both in seconds.
SHORT_S=5
AGAIN_S=2

# A supervisor that was started says so within this, in seconds.
START_S_MAX=15

# A service that is told to end gets so long, in seconds: its commands have 5 s of it.
STOP_S_MAX=30

# Files that a service may have open at once, unless the machine lets it have fewer. Source: LimitNOFILE of its unit.
FILES_MAX=65536

# Statuses after which another start would end the same way: a wrong setting, a refused key, a removed node.
FINAL='2 3 4'

usage() {
  echo 'Usage: edge-agentctl start|stop|restart|status|is-active [agent|updater]' >&2
  exit 2
}

is_running() {
  pid=$(cat "$RUN/$1.pid" 2>/dev/null) && [ -n "$pid" ] && [ -r "/proc/$pid/cmdline" ] &&
    tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q " supervise $1 "
}

child_of() {
  cat "$RUN/$1.child" 2>/dev/null
}

# A process that ended stays in the list until its parent asks for it, which in containers often nobody does.
is_alive() {
  [ -d "/proc/$1" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null
}

# ended PID: waits for it.
ended() {
  waited=0
  while is_alive "$1"; do
    [ "$waited" -lt $((STOP_S_MAX * 5)) ] || return 1
    sleep 0.2 2>/dev/null || sleep 1
    waited=$((waited + 1))
  done
}

# Keeps one service running, until TERM.
supervise() {
  name=$1
  stopping=no
  child=
  echo $$ >"$RUN/$name.pid"
  : >"$RUN/$name.begun"
  trap 'stopping=yes; [ -z "$child" ] || kill "$child" 2>/dev/null' TERM INT
  keep_log &
  keeper=$!
  while [ "$stopping" = no ]; do
    began=$(date +%s)
    [ "$stopping" = no ] || break # it was told so meanwhile
    (
      trap - TERM INT
      run "$name"
    ) &
    child=$!
    [ "$stopping" = no ] || kill "$child" 2>/dev/null # told before the trap knew whom to end
    echo "$child" >"$RUN/$name.child"
    status=0
    wait "$child" || status=$?
    # a signal to this shell ends the wait, not the child
    while kill -0 "$child" 2>/dev/null; do
      status=0
      wait "$child" || status=$?
    done
    child=
    rm -f "$RUN/$name.child"
    case " $FINAL " in *" $status "*)
      echo "edge-agentctl: $name ended with status $status and is not started again"
      # not by a colon: it is special, and a shell ends where its file cannot be made. Without it nobody may take the
      # agent for one that lost its supervisor
      true >"$RUN/$name.final" || rm -f "$RUN/$name.pid"
      break
      ;;
    esac
    [ "$stopping" = yes ] || [ $(($(date +%s) - began)) -ge "$SHORT_S" ] || sleep "$AGAIN_S"
  done
  kill "$keeper" 2>/dev/null
  # the file of one that ended for good stays: nobody stopped it
  [ "$stopping" = no ] || rm -f "$RUN/$name.pid"
}

# Becomes the service. The limit of files is read anew, as it may have changed since this supervisor began; all else of
# the file may be of a version that does not know this one. By no other program: where none can be started, a shell ends
# with 2, as a service does that is not started again.
run() {
  files_max=
  while read -r line; do
    case $line in FILES_MAX=*) files_max=${line#*=} ;; esac
  done 2>/dev/null <"$LIB/edge-agentctl"
  case $files_max in '' | *[!0-9]*) files_max=$FILES_MAX ;; esac
  # shellcheck disable=SC3045 # not in POSIX, but in every sh
  ulimit -n "$files_max" 2>/dev/null || : # Node takes what it may have
  set -a
  # shellcheck source=/dev/null
  [ ! -r "$ETC/$1.env" ] || . "$ETC/$1.env"
  exec "$LIB/launch" "$1"
}

keep_log() {
  trap 'kill "${!:-}" 2>/dev/null; exit 0' TERM
  while :; do
    sleep "$LOG_LOOK_S" &
    wait "$!"
    [ "$(wc -c <"$LOGS/$name.log")" -le "$LOG_BYTES_MAX" ] || {
      cp "$LOGS/$name.log" "$LOGS/$name.log.1"
      true >"$LOGS/$name.log"
    }
  done
}

start() {
  ! is_running "$1" || return 0
  mkdir -p "$RUN" "$LOGS"
  rm -f "$RUN/$1.begun" "$RUN/$1.final"
  # nothing of whoever calls this goes to the service
  setsid env -i PATH="$PATH" HOME="${HOME:-/}" LANG="${LANG:-C.UTF-8}" nohup /bin/sh "$LIB/edge-agentctl" supervise "$1" \
    >>"$LOGS/$1.log" 2>&1 </dev/null &
  waited=0
  # what it runs may have ended for good by now, and the supervisor with it: its log says why
  until [ -e "$RUN/$1.begun" ]; do
    [ "$waited" -lt $((START_S_MAX * 5)) ] || {
      echo "its supervisor did not begin within $START_S_MAX s" >&2
      return 1
    }
    sleep 0.2 2>/dev/null || sleep 1
    waited=$((waited + 1))
  done
  rm -f "$RUN/$1.begun"
}

stop() {
  if is_running "$1"; then
    kill "$pid" 2>/dev/null
    ended "$pid" || {
      child=$(child_of "$1") # not the one of before: it may have been between two
      [ -z "$child" ] || kill -9 "$child" 2>/dev/null
      ended "$pid" || kill -9 "$pid" 2>/dev/null
    }
  fi
  rm -f "$RUN/$1.pid" "$RUN/$1.final"
}

# The supervisor stays: it starts the next one as soon as this one is gone.
restart() {
  child=$(child_of "$1")
  if is_running "$1" && [ -n "$child" ]; then
    kill "$child" 2>/dev/null
    ended "$child" || kill -9 "$child" 2>/dev/null
  elif [ "$INIT" = openrc ]; then
    rc-service "edge-$1" restart # also where OpenRC takes a supervisor that was killed for started
  else
    start "$1"
  fi
}

status() {
  if is_running "$1"; then
    echo "$1 runs (process $(child_of "$1"))"
  else
    echo "$1 does not run"
    return 3
  fi
}

# In the words of systemctl, and with its status: inactive is one that somebody stopped, or never started; failed one
# that another start would not help. A word of its own, abandoned, is for one whose supervisor ended, which whoever looks
# after it is to start: systemctl says activating of one that it starts by itself.
is_active() {
  if is_running "$1"; then
    echo active
  elif [ -e "$RUN/$1.final" ]; then
    echo failed
    return 3
  elif [ -e "$RUN/$1.pid" ]; then
    echo abandoned
    return 3
  else
    echo inactive
    return 3
  fi
}

[ $# -ge 1 ] || usage
action=$1
name=${2:-agent}
case $action in start | stop | restart | status | is-active | supervise) ;; *) usage ;; esac
case $name in agent | updater) ;; *) usage ;; esac

if [ "$action" = supervise ]; then
  mkdir -p "$RUN" "$LOGS"
  supervise "$name"
elif [ "$INIT" = systemd ] && [ "$SCOPE" = user ]; then
  exec systemctl --user "$action" "edge-$name.service"
elif [ "$INIT" = systemd ]; then
  exec systemctl "$action" "edge-$name.service"
elif [ "$action" = is-active ]; then
  is_active "$name"
elif [ "$INIT" = openrc ] && [ "$action" != restart ] && [ -z "${RC_SVCNAME:-}" ]; then # else OpenRC asks us
  exec rc-service "edge-$name" "$action"
else
  "$action" "$name"
fi
