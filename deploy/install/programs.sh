# The programs: Node's runtime, the agent and its updater, laid out as the updater keeps them.

# Whether there is anything to install, and of what size.
check_release() {
  NEEDS_PROGRAMS=no
  NEEDED_BYTES=0
  ! works "$STATE/current" || return 0
  ! trusts_another_root || fail "This machine trusts another root of releases than this admin serves: $TO_THIS_ROOT."
  [ -n "$RELEASE_FILES" ] ||
    fail 'This admin has no release to install: its operator publishes one first, by edge release init.'
  NEEDS_PROGRAMS=yes
  for name in node edge-agent.cjs edge-updater.cjs; do
    release_file "$name" || fail "This admin has no release for $ARCH on the channel $CHANNEL. It has: $(offered)."
    NEEDED_BYTES=$((NEEDED_BYTES + FILE_BYTES + FILE_PACKED_BYTES))
  done
}

# Whether this machine trusts a root that does not lead to the one here, as when the keys of the first one were lost. It
# keeps that: an admin could otherwise bring releases of its own.
trusts_another_root() {
  [ -n "$ROOT_CHAIN" ] && [ -e "$STATE/trust/root.json" ] || return 1
  case " $ROOT_CHAIN " in *" $(sha256_of "$STATE/trust/root.json") "*) return 1 ;; esac
}

TO_THIS_ROOT='to trust this one instead, run the line with --uninstall first, and then as it is; the node stays the same'

# The channels and architectures of releases, in one line.
offered() {
  printf '%s\n' "$RELEASE_FILES" | sed -n 's/^\([^ ]* [^ ]*\) .* node .*/\1/p' | tr '\n' ',' | sed 's/,$//; s/,/, /g'
}

# works VERSION: whether its agent starts.
works() {
  [ -x "$1/runtime/node" ] && [ -r "$1/edge-agent.cjs" ] && "$1/runtime/node" "$1/edge-agent.cjs" --version >/dev/null 2>&1
}

# Where downloads go until they are whole: on the file system of the programs, as /tmp may be small.
begin_work() {
  BEGAN=$(date +%s)
  DOWNLOAD_S=0
  is_real || return 0
  mkdir -p "$STATE/downloads"
  chmod 755 "$STATE"
  chmod 700 "$STATE/downloads"
  WORK=$(mktemp -d "$STATE/.install-XXXXXX")
  trap 'rm -rf "$WORK"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  LEFT="What was downloaded whole stays in $STATE, for the next try."
}

install_programs() {
  if [ "$NEEDS_PROGRAMS" = no ]; then
    if trusts_another_root; then
      note "The programs are there: $(agent_version). They take no release of this admin, as this machine trusts another root of releases: $TO_THIS_ROOT."
    else
      note "The programs are there: $(agent_version). Newer ones come by the updater."
    fi
    return
  fi
  release_file node
  for admin in $ADMIN_URLS; do break; done
  if ! is_real; then
    printf 'would download edge-agent %s with its runtime (%s MiB) from %s, check it and put it into %s\n' \
      "$FILE_VERSION" "$((NEEDED_BYTES / 1048576))" "$admin" "$STATE"
    return
  fi
  note "Downloading edge-agent $FILE_VERSION from $admin ..."
  unpacked node "$WORK/node"
  chmod 755 "$WORK/node"
  check_runtime
  unpacked edge-updater.cjs "$WORK/edge-updater.cjs"
  if [ -e "$STATE/trust/root.json" ]; then
    lay_out # it is of the chain, and may be newer
  else
    fetch_checked "$ROOT_PATH" "$ROOT_SHA256" "$WORK/root.json"
    lay_out --root "$WORK/root.json"
  fi
  DOWNLOAD_S=$(($(date +%s) - BEGAN))
  works "$STATE/current" || fail "The agent that was installed does not start: $("$STATE/current/runtime/node" "$STATE/current/edge-agent.cjs" --version 2>&1 | sed -n '1p')."
}

# The runtime wants more libraries than libc.
check_runtime() {
  message=$("$WORK/node" --version 2>&1) || case $message in
  *libstdc++*) fail 'The library libstdc++ is not on this machine: install it (Debian: apt-get install libstdc++6).' ;;
  *libatomic*) fail 'The library libatomic is not on this machine: install it (Debian: apt-get install libatomic1).' ;;
  *libgcc*) fail 'The library libgcc_s is not on this machine: install it (Debian: apt-get install libgcc-s1).' ;;
  *[Pp]'ermission denied'*) fail "Programs may not be run from $STATE: its file system is mounted with noexec." ;;
  *) fail "The runtime does not start here: $(one_line "$message")." ;;
  esac
}

# lay_out [--root FILE]: by the updater itself, which checks all metadata from the root on, as it does at each update.
lay_out() {
  message=$(
    set_environment
    "$WORK/node" "$WORK/edge-updater.cjs" bootstrap "$@" 2>&1
  ) || fail "The release was not accepted: $(one_line "$(printf '%s\n' "$message" | sed -n 's/^edge-updater: //p')")."
}

set_environment() {
  UPDATER_DIR=$STATE
  UPDATER_ADMIN_URLS=$(printf '%s' "$ADMIN_URLS" | tr ' ' ',')
  UPDATER_CHANNEL=$CHANNEL
  UPDATER_ALLOW_HTTP=true # as the script itself came; what is fetched is signed
  export UPDATER_DIR UPDATER_ADMIN_URLS UPDATER_CHANNEL UPDATER_ALLOW_HTTP
  [ -z "$CA_FILE" ] || export NODE_EXTRA_CA_CERTS="$CA_FILE"
}

agent_version() {
  printf 'edge-agent %s' "$("$STATE/current/runtime/node" "$STATE/current/edge-agent.cjs" --version 2>/dev/null || echo of a version that does not start)"
}
