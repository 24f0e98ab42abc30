# What was asked for.

ACTION=install
unset KEY RECOVERY_KEY # variables of the caller by these names would be handed on to every program
KEY=''
KEY_FILE=''
RECOVERY_KEY=''
KEEP_KEY=no
NAMES=''
LABELS=''
GIVEN_ADMINS=''
CA_FILE=''
CHANNEL=stable
IS_CHANNEL_GIVEN=no
SCOPE=system
INIT=''
START=yes
SELF_UPDATE=yes
UPDATER=yes
DRY_RUN=no
PURGE=no
LEAVE=no

read_options() {
  while [ $# -gt 0 ]; do
    case $1 in
    --key | --key-file | --recovery-key-file | --name | --alias | --labels | --admin | --ca-file | --channel | --init)
      [ $# -ge 2 ] || misuse "$1 takes a value"
      read_value "$1" "$2"
      shift 2
      ;;
    --*=*)
      option=${1%%=*}
      value=${1#*=}
      shift
      set -- "$option" "$value" "$@"
      ;;
    *)
      read_flag "$1"
      shift
      ;;
    esac
  done
  check_options
}

read_value() {
  case $2 in *"$NEWLINE"*) misuse "$1 has more than one line" ;; esac
  case $1 in
  --key) KEY=$2 ;;
  --key-file) KEY_FILE=$2 ;;
  --recovery-key-file) RECOVERY_KEY=$(secret_in "$1" "$2") ;;
  --name | --alias) NAMES=${NAMES:+$NAMES,}$2 ;;
  --labels) LABELS=$2 ;;
  --admin) GIVEN_ADMINS=$2 ;;
  --ca-file) CA_FILE=$2 ;;
  --channel) CHANNEL=$2 IS_CHANNEL_GIVEN=yes ;;
  --init) INIT=$2 ;;
  esac
}

read_flag() {
  case $1 in
  --keep-key) KEEP_KEY=yes ;;
  --user) SCOPE=user ;;
  --no-start) START=no ;;
  --no-self-update) SELF_UPDATE=no ;;
  --updater) UPDATER=yes ;;
  --no-updater) UPDATER=no SELF_UPDATE=no ;;
  --dry-run) DRY_RUN=yes ;;
  --uninstall) ACTION=uninstall ;;
  --purge) PURGE=yes ;;
  --leave) LEAVE=yes ;;
  --help | -h)
    usage
    exit 0
    ;;
  *) misuse "$1 is no option of this script: --help lists them" ;;
  esac
}

NEWLINE='
'

check_options() {
  [ "$PURGE" = no ] || [ "$ACTION" = uninstall ] || misuse '--purge goes with --uninstall'
  [ "$LEAVE" = no ] || [ "$PURGE" = yes ] || misuse '--leave goes with --uninstall --purge: a node without a machine is of no use, and a machine that keeps its identity is still that node'
  case $INIT in '' | systemd | openrc | none) ;; *) misuse "--init is \"$INIT\": it should be systemd, openrc or none" ;; esac
  case $CHANNEL in '' | *[!a-z0-9-]*) misuse "--channel is \"$CHANNEL\": it should be a name of small letters, digits and hyphens" ;; esac
  case $NAMES in *[!a-z0-9,-]*) misuse "--name is \"$NAMES\": it should be of small letters, digits and hyphens" ;; esac
  case $LABELS in *[!A-Za-z0-9=,./_-]*) misuse "--labels is \"$LABELS\": it should be like env=prod,site=hall-3" ;; esac
  [ -z "$CA_FILE" ] || [ -r "$CA_FILE" ] || misuse "--ca-file $CA_FILE cannot be read"
  if [ -n "$GIVEN_ADMINS" ]; then
    GIVEN_ADMINS=$(printf '%s' "$GIVEN_ADMINS" | sed 's|/*,|,|g; s|/*$||')
    ADMIN_URLS=$(printf '%s' "$GIVEN_ADMINS" | tr ',' ' ')
    for url in $ADMIN_URLS; do
      is_url "$url" || misuse "--admin is \"$url\": it should be a URL such as https://admin.example.com"
    done
  fi
}

# Whether a text is a URL that needs no quoting anywhere.
is_url() {
  case $1 in
  *[!][A-Za-z0-9.:/_~%@-]*) return 1 ;;
  http://?* | https://?*) return 0 ;;
  *) return 1 ;;
  esac
}

# secret_in OPTION FILE: the first line of it.
secret_in() {
  [ -r "$2" ] || misuse "$1 $2 cannot be read"
  IFS= read -r secret <"$2" || [ -n "$secret" ] || misuse "$1 $2 is empty"
  printf '%s' "$secret"
}
