#!/bin/sh
# Starts a program of the version that is current, or of the one before where the files of that are damaged, as after a
# power cut. Services run it: launch agent, launch updater. More words go to the program: launch updater status.
# Installed as /usr/lib/edge/launch. For any POSIX sh with coreutils or busybox.
set -u

DIR=${UPDATER_DIR:-/var/lib/edge-updater}
BOOT=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo none)
UPDATER_TRIES=3 # starts of a new updater that ended at once, before the one of the version before is taken
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
  read -r name tries 2>/dev/null <"$DIR/starts-updater" || { name='' tries=0; }
  case $tries in '' | *[!0-9]*) tries=0 ;; esac
  [ "$name" = "$1" ] || tries=0
  if [ "$tries" -ge "$UPDATER_TRIES" ] && [ "$before" != "$1" ] && is_usable "$before"; then
    say "the updater of $1 did not come up $tries times: that of $before is started"
    replace starts-updater "$1 0"
    echo "$before"
    return
  fi
  replace starts-updater "$1 $((tries + 1))"
  echo "$1"
}

role=${1:-}
case $role in
  agent | updater) shift ;;
  *)
    say "what is to be started? launch agent, or launch updater"
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
    [ "$started" = "$version" ] || export EDGE_UPDATER_INSTEAD=1
    version=$started
    set -- serve
  fi
fi
export NODE_COMPILE_CACHE="$DIR/versions/$version/code-cache"
exec "$DIR/versions/$version/runtime/node" "$DIR/versions/$version/edge-$role.cjs" "$@"
