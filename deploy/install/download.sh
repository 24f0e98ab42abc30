# What comes from the admin: each file is checked against the hash that came with this script.

# A connection gets so long, and a download that stands still, in seconds.
CONNECT_S_MAX=20
STALL_S_MAX=60

# fetch PATH FILE: from the first admin that serves it, going on where FILE ends. PROBLEM says why none did.
fetch() {
  PROBLEM='no admin is known'
  IS_REFUSED=no
  for admin in $ADMIN_URLS; do
    if fetch_url "$admin/$1" "$2"; then
      ADMIN=$admin
      return 0
    fi
  done
  return 1
}

fetch_url() {
  status=0
  if [ "$FETCH" = curl ]; then
    message=$(curl --fail --silent --show-error --location --connect-timeout "$CONNECT_S_MAX" \
      --speed-limit 1024 --speed-time "$STALL_S_MAX" --retry 10 --retry-max-time 120 --continue-at - ${CA_FILE:+--cacert "$CA_FILE"} --output "$2" "$1" 2>&1) || status=$?
  else
    message=$(wget -q -c -T "$CONNECT_S_MAX" ${CA_FILE:+--ca-certificate="$CA_FILE"} -O "$2" "$1" 2>&1) || status=$?
  fi
  IS_REFUSED=no
  [ "$status" -ne 0 ] || return 0
  host=${1#*://}
  host=${1%%://*}://${host%%/*}
  case $message in *'error: 503'*) status=$status-busy ;; esac
  case $FETCH$status in
  *-busy) PROBLEM="$host serves as many others as it may, or is starting: run the line again in a minute" ;;
  curl6) PROBLEM="the name in $host is not known to this machine: check the URL and the resolver" ;;
  curl7 | curl28 | wget4) PROBLEM="$host is not reached: check the network, the firewall and https_proxy" ;;
  curl35 | curl51 | curl60 | curl77 | wget5) PROBLEM="the certificate of $host is not trusted by this machine: give its authority by --ca-file FILE, or put it right at the admin" ;;
  curl22 | curl33 | wget8) IS_REFUSED=yes PROBLEM="$host does not serve ${1##*/}: publish the release again, or run the line again where it has changed meanwhile" ;;
  curl18 | curl56) PROBLEM="the download from $host was cut: run the line again" ;;
  curl23) PROBLEM="$(dirname "$2") does not take it: make room there" ;;
  *) PROBLEM="$host did not answer as it should ($FETCH ended with $status: $(one_line "$message"))" ;;
  esac
  return 1
}

one_line() {
  printf '%s' "$1" | tr '\n' ' ' | cut -c 1-200
}

sha256_of() {
  sum=$(sha256sum "$1")
  printf '%s' "${sum%% *}"
}

# fetch_checked PATH SHA256 FILE: what an earlier try left of it is gone on with.
fetch_checked() {
  ! is_file "$3" "$2" || return 0
  if [ -s "$3" ]; then
    if fetch "$1" "$3"; then
      ! is_file "$3" "$2" || return 0
    elif [ "$IS_REFUSED" = no ]; then
      fail "The download of $1 failed: $PROBLEM."
    fi
    rm -f "$3" # of something else: all of it anew
  fi
  fetch "$1" "$3" || fail "The download of $1 failed: $PROBLEM."
  is_file "$3" "$2" || {
    rm -f "$3"
    fail "$ADMIN serves other bytes as $1 than it said: run the line again, and if it stays so, do not trust that mirror."
  }
}

# is_file FILE SHA256
is_file() {
  [ -s "$1" ] && [ "$(sha256_of "$1")" = "$2" ]
}

# release_file NAME: sets FILE_… to what this script was told of it for this channel and architecture.
release_file() {
  while read -r channel arch version name sha256 bytes packed_sha256 packed_bytes path; do
    if [ "$channel $arch $name" = "$CHANNEL $ARCH $1" ]; then
      FILE_VERSION=$version FILE_SHA256=$sha256 FILE_BYTES=$bytes
      FILE_PACKED_SHA256=$packed_sha256 FILE_PACKED_BYTES=$packed_bytes FILE_PATH=$path
      return 0
    fi
  done <<FILES
$RELEASE_FILES
FILES
  return 1
}

# unpacked NAME FILE: a file of the release, checked. Packed, it is where the updater looks for what it has of it.
unpacked() {
  release_file "$1"
  part=$STATE/downloads/$FILE_PACKED_SHA256.part
  fetch_checked "$FILE_PATH" "$FILE_PACKED_SHA256" "$part"
  gzip -dc <"$part" >"$2" 2>/dev/null || fail "$2 could not be unpacked: make room there."
  got=$(sha256_of "$2")
  [ "$got" = "$FILE_SHA256" ] || fail "$1 of the release is not what its metadata says (SHA-256 $got instead of $FILE_SHA256): publish the release again."
}
