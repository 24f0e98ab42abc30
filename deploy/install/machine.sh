# What this machine is, and whether an agent can run on it.

# The oldest C library that the runtime starts with: the newest version of a symbol in Node 24.
GLIBC_MIN=2.28

check_machine() {
  check_rights
  check_architecture
  check_library
  check_tools
  check_data
  check_other_agent
}

check_rights() {
  user=$(id -u)
  if [ "$SCOPE" = system ] && [ "$user" -ne 0 ]; then
    fail 'This has to be run by root: put sudo before sh, or give --user to install it for you alone.'
  fi
  if [ "$SCOPE" = user ] && [ "$user" -eq 0 ]; then
    fail '--user is for users other than root: leave it out.'
  fi
}

check_architecture() {
  system=$(uname -s)
  [ "$system" = Linux ] || fail "The agent runs on Linux, and this is $system."
  machine=$(uname -m)
  case $machine in
  x86_64 | amd64) ARCH=linux-x64 ;;
  aarch64 | arm64) ARCH=linux-arm64 ;;
  *) fail "There is no agent for $machine machines: it runs on x86_64 and aarch64." ;;
  esac
}

# A machine may have several libraries: the one of its own programs counts.
check_library() {
  version=$(getconf GNU_LIBC_VERSION 2>/dev/null || true)
  version=${version#glibc }
  if [ -z "$version" ]; then
    # ldd of musl says what it is, and fails
    version=$(ldd --version 2>&1 || true)
    case $version in
    *musl*) fail_library 'This system is built on musl' ;;
    *GLIBC* | *'GNU libc'* | *Free\ Software*) version=$(printf '%s\n' "$version" | sed -n '1s/.* //p') ;;
    *) fail_library 'The C library of this system is not glibc' ;;
    esac
  fi
  is_at_least "$version" "$GLIBC_MIN" || fail_library "This system has glibc $version"
}

fail_library() {
  fail "$1, and the agent needs glibc $GLIBC_MIN or later: run it in a container of Debian, or by the OCI image of the agent (docs/containers.md)."
}

# is_at_least VERSION LEAST, of two numbers each.
is_at_least() {
  major=${1%%.*}
  minor=${1#*.}
  minor=${minor%%.*}
  case $major$minor in '' | *[!0-9]*) return 1 ;; esac
  [ "$major" -gt "${2%%.*}" ] || { [ "$major" -eq "${2%%.*}" ] && [ "$minor" -ge "${2#*.}" ]; }
}

check_tools() {
  if has curl; then
    FETCH=curl
  elif has wget; then
    FETCH=wget
  else
    fail 'Neither curl nor wget is on this machine: install one of them.'
  fi
  for tool in gzip sha256sum sed tr df cmp mktemp readlink; do
    has "$tool" || fail "The program $tool is not on this machine: install it."
  done
}

# It goes into a unit as it is.
check_data() {
  [ "$SCOPE $INIT" != 'system systemd' ] || is_plain_path "$DATA" ||
    fail "AGENT_DATA_DIR in $AGENT_ENV is $DATA: systemd needs one without spaces and signs that mean something to it."
}

# Room is looked at where the programs go, on the nearest directory above that is there.
check_room() {
  [ "$NEEDS_PROGRAMS" = yes ] || return 0
  needed=$(((NEEDED_BYTES + ROOM_SPARE_BYTES) / 1024))
  place=$(nearest "$STATE")
  free=$(df -Pk "$place" | sed -n '2p' | tr -s ' ' | cut -d ' ' -f 4)
  [ "$free" -ge "$needed" ] || fail "$place has $((free / 1024)) MiB free, and $((needed / 1024)) MiB are needed: make room there."
}

# Left for journal, outputs and the log of the first days, in bytes.
ROOM_SPARE_BYTES=67108864

nearest() {
  nearest=$1
  while [ ! -d "$nearest" ]; do nearest=$(dirname "$nearest"); done
  printf '%s' "$nearest"
}

# An agent that this script did not install: two on one machine would be two nodes.
check_other_agent() {
  IS_THERE=no
  [ ! -e "$LIB/$MARK" ] || IS_THERE=yes
  [ "$IS_THERE" = no ] || return 0
  for unit in /usr/lib/systemd/system/edge-agent.service /lib/systemd/system/edge-agent.service; do
    [ "$SCOPE" = user ] || [ ! -e "$unit" ] ||
      fail "A package of this system brings the agent ($unit): use that one, or remove the package first."
  done
  pid=$(cat "$DATA/agent.pid" 2>/dev/null || true)
  case $pid in
  '' | *[!0-9]*) ;;
  *)
    if kill -0 "$pid" 2>/dev/null; then
      fail "An agent that was not installed by this script runs on $DATA (process $pid): stop it first. Its identity is taken over."
    fi
    ;;
  esac
}
