#!/bin/sh
# Starts a program of the version that is current, or of the one before where the files of that are damaged, as after a
# power cut. Services run it: launch agent, launch updater. More words go to the program: launch updater status.
# Installed as /usr/lib/edge/launch. For any POSIX sh with coreutils or busybox.
set -u

# A shell that can start no process ends with 2, which is a wrong setting to whoever starts this: it would be tried no more.
trap '[ $? -ne 2 ] || exit 1' EXIT

DIR=${UPDATER_DIR:-/var/lib/edge-updater}
BOOT=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo none)
UPDATER_TRIES=3 # starts of a new updater that ended at once, before the one of the version before is taken
UPDATER_SILENT_SECONDS=${EDGE_UPDATER_SILENT_SECONDS:-60} # of one that hangs instead, until it is ended
STARTS_KEPT=20  # lines of starts-agent

say() {
  echo "launch: $*" >&2
}

# Whether every file of a version has its size, and with "full" its hash. The manifest: agent/updater/versions.ts.
is_whole() {
  [ -r "$1/manifest" ] || return 1
  {
    read -r head format count || return 1
    [ "$head $format" = 'edge-release 1' ] || return 1
    while read -r sum bytes file; do
      [ "$(stat -L -c %s "$1/$file" 2>/dev/null)" = "$bytes" ] || return 1
      [ "$2" != full ] || [ "$(sha256sum <"$1/$file" 2>/dev/null)" = "$sum  -" ] || return 1
      count=$((count - 1))
    done
    [ "$count" -eq 0 ] 2>/dev/null
  } <"$1/manifest"
}

# Hashes are looked at once after a boot: a power cut may leave files with their size and no content.
is_usable() {
  if [ "$BOOT" != none ] && grep -qxF "$BOOT $1" "$DIR/verified" 2>/dev/null; then
    is_whole "$DIR/versions/$1" sizes
    return
  fi
  is_whole "$DIR/versions/$1" full || return 1
  replace verified "$(grep -F "$BOOT " "$DIR/verified" 2>/dev/null; echo "$BOOT $1")"
}

# Replaces a file by rename. One that cannot be written is no reason not to start.
replace() {
  { printf '%s\n' "$2" >"$DIR/$1.$$" && mv -f "$DIR/$1.$$" "$DIR/$1"; } 2>/dev/null || rm -f "$DIR/$1.$$" 2>/dev/null
}

linked() {
  target=$(readlink "$DIR/$1" 2>/dev/null) || return 1
  echo "${target##*/}"
}

# The version to start: that of current, else that of previous, else any other that is whole.
choose() {
  for name in $(linked current) $(linked previous); do
    ! is_usable "$name" || { echo "$name" && return; }
    say "the files of $name are damaged"
  done
  for path in "$DIR"/versions/*; do
    name=${path##*/}
    case $name in *.new | *.damaged) continue ;; esac
    ! is_usable "$name" || { echo "$name" && return; }
  done
  return 1
}

# From now on this one is current, for everybody.
make_current() {
  [ "$(linked current)" != "$1" ] || return 0
  say "$1 is started instead"
  ln -s "versions/$1" "$DIR/current.$$" 2>/dev/null || return 0
  mv -fT "$DIR/current.$$" "$DIR/current" 2>/dev/null || { rm -f "$DIR/current" && mv -f "$DIR/current.$$" "$DIR/current"; }
}

# The uptime of each start, by which the updater knows an agent that crashes again and again.
note_agent_start() {
  read -r up _ </proc/uptime || return 0
  replace starts-agent "$(grep -F "$BOOT " "$DIR/starts-agent" 2>/dev/null | tail -n $((STARTS_KEPT - 1)); echo "$BOOT $up")"
}

# A new updater that does not come up (it removes the file when it does) makes way for the one before, until the next start.
updater_version() {
  before=$(linked previous) || before=$1
  read -r name tries why 2>/dev/null <"$DIR/starts-updater" || { name='' tries=0 why=''; }
  case $tries in '' | *[!0-9]*) tries=0 ;; esac
  [ "$name" = "$1" ] || tries=0
  if [ "$tries" -ge "$UPDATER_TRIES" ] && [ "$before" != "$1" ] && is_usable "$before"; then
    if [ "$why" = hung ]; then
      say "the updater of $1 gave no sign of life for $UPDATER_SILENT_SECONDS s: that of $before is started"
    else
      say "the updater of $1 did not come up $tries times: that of $before is started"
    fi
    replace starts-updater "$1 0"
    echo "$before"
    return
  fi
  replace starts-updater "$1 $((tries + 1))"
  echo "$1"
}

# When a process started, in ticks since the boot: another one may have its number later. Nothing: it is gone.
start_of() {
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  # shellcheck disable=SC2086
  set -- ${line##*) }
  [ "$1" != Z ] && echo "${20}"
}

# Ends the updater with this process id where it hangs instead of ending by itself, and has the next start take the one
# before. It touches updater-alive until it came up and nothing is under way: so long it is looked at.
watch_updater() {
  { began=$(start_of "$1") && [ -w "$DIR" ]; } || return 0
  mark=$(sign_of_life) silent=0
  while [ "$silent" -lt "$UPDATER_SILENT_SECONDS" ]; do
    sleep 1
    [ "$(start_of "$1")" = "$began" ] || return 0
    [ -e "$DIR/starts-updater" ] || [ -e "$DIR/updater-alive" ] || return 0
    now=$(sign_of_life)
    silent=$((silent + 1))
    [ "$now" = "$mark" ] || mark=$now silent=0
  done
  replace starts-updater "$2 $UPDATER_TRIES hung"
  kill -9 "$1"
}

sign_of_life() {
  stat -c %Y "$DIR/updater-alive" 2>/dev/null
}

role=${1:-}
case $role in
  agent | updater) shift ;;
  *)
    say "what is to be started? launch agent, or launch updater"
    trap - EXIT
    exit 2
    ;;
esac
version=$(choose) || {
  say "no version in $DIR/versions is whole: install again"
  exit 1
}
make_current "$version"
if [ $# -eq 0 ]; then
  if [ "$role" = agent ]; then
    note_agent_start
    set -- up
  else
    started=$(updater_version "$version")
    if [ "$started" = "$version" ]; then
      rm -f "$DIR/updater-alive" 2>/dev/null
      # Beside it, and not below it: this process becomes the updater, which waits for no child of a shell.
      (watch_updater $$ "$version" >/dev/null 2>&1 </dev/null &)
    else
      export EDGE_UPDATER_INSTEAD=1 # of a release that may not know of updater-alive
    fi
    version=$started
    set -- serve
  fi
fi
export NODE_COMPILE_CACHE="$DIR/versions/$version/code-cache"
exec "$DIR/versions/$version/runtime/node" "$DIR/versions/$version/edge-$role.cjs" "$@"
