# The settings of the agent and of its updater, and the token that the two share.

# A key that cannot be one is refused before anything is downloaded.
check_key() {
  is_key_given=yes
  if [ -n "$KEY_FILE" ]; then
    [ -z "$KEY" ] || misuse '--key and --key-file were both given: one is enough'
    KEY=$(secret_in --key-file "$KEY_FILE")
  elif [ -z "$KEY" ]; then
    KEY=${EDGE_KEY:-}
  fi
  unset EDGE_KEY
  if [ -z "$KEY" ]; then
    is_key_given=no
    ! is_enrolled || return 0
    [ -z "$(setting_in "$AGENT_ENV" ENROLLMENT_KEY)" ] || return 0
    misuse 'no enrollment key was given: edge node add CLUSTER makes one and prints the whole line (--key, --key-file or EDGE_KEY)'
  fi
  # base64url of a JSON object
  case $KEY in
  *[!A-Za-z0-9_-]*) misuse "the enrollment key is none: it holds signs that no key has; copy it whole" ;;
  eyJ????????????????????????????????*) ;;
  *) misuse 'the enrollment key is none: it should begin with eyJ and be as edge node add printed it' ;;
  esac
}

is_enrolled() {
  grep -q '"api_token"' "$DATA/identity.json" 2>/dev/null
}

# Whether the key that was given goes to the agent. One that has a session needs none, and would be started anew for it.
IS_KEY_WRITTEN=no

install_settings() {
  act "make $ETC, $DATA and $LOGS" make_directories
  [ -z "$CA_FILE" ] || act "put the authority of the admin's certificate into $AUTHORITY" write_authority
  act "write the settings of the agent to $AGENT_ENV" write_agent_settings
  [ "$UPDATER" = no ] || act "write the settings of the updater to $UPDATER_ENV" write_updater_settings
}

make_directories() {
  mkdir -p "$ETC" "$DATA" "$LOGS"
  chmod 755 "$ETC"
  chmod 700 "$DATA"
  chmod 750 "$LOGS"
}

# A copy, as services do not see all that whoever installs them sees: the updater has no homes and a /tmp of its own.
write_authority() {
  cat "$CA_FILE" >"$AUTHORITY.new"
  chmod 644 "$AUTHORITY.new"
  replace "$AUTHORITY"
}

write_agent_settings() {
  begin_settings "$AGENT_ENV" 'Settings of edge-agent, read when its service starts; edge-agent --help lists them.'
  if [ "$is_key_given" = yes ] && ! has_session; then
    set_setting ENROLLMENT_KEY "$KEY"
    IS_KEY_WRITTEN=yes
  fi
  [ -z "$RECOVERY_KEY" ] || set_setting RECOVERY_KEY "$RECOVERY_KEY"
  [ -z "$NAMES" ] || set_setting AGENT_ALIASES "$NAMES"
  [ -z "$LABELS" ] || set_setting AGENT_LABELS "$LABELS"
  [ -z "$GIVEN_ADMINS" ] || set_setting ADMIN_URLS "$GIVEN_ADMINS"
  set_setting AGENT_SELF_UPDATE_ENABLED "$([ "$SELF_UPDATE" = yes ] && echo true || echo false)"
  [ "$UPDATER" = no ] || set_setting AGENT_UPDATER_TOKEN_FILE "$TOKEN_FILE"
  [ "$SCOPE" = system ] || set_setting UPDATER_DIR "$STATE" # for the launcher
  set_way_out
  end_settings
}

write_updater_settings() {
  begin_settings "$UPDATER_ENV" 'Settings of edge-updater, read when its service starts; its --help lists them.'
  if [ "$IS_CHANNEL_GIVEN" = yes ] || [ -z "$(setting_in "$UPDATER_ENV" UPDATER_CHANNEL)" ]; then
    set_setting UPDATER_CHANNEL "$CHANNEL"
  fi
  set_setting UPDATER_DIR "$STATE"
  if [ -n "$GIVEN_ADMINS" ]; then set_setting UPDATER_ADMIN_URLS "$GIVEN_ADMINS"; else unset_setting UPDATER_ADMIN_URLS; fi
  ! has_clear_url || set_setting UPDATER_ALLOW_HTTP true
  set_setting UPDATER_AGENT_DATA_DIR "$DATA"
  set_setting UPDATER_AGENT_SETTINGS "$AGENT_ENV"
  if [ "$INIT" != systemd ] || [ "$SCOPE" = user ]; then
    set_setting UPDATER_RESTART_COMMAND "$LIB/edge-agentctl restart agent"
    set_setting UPDATER_STATE_COMMAND "$LIB/edge-agentctl is-active agent"
  fi
  [ "$INIT" = systemd ] || set_setting UPDATER_AGENT_LOG "$LOGS/agent.log"
  set_way_out
  end_settings
}

# Whether an admin is reached by http. What is fetched is signed all the same.
has_clear_url() {
  case " $ADMIN_URLS" in *' http://'*) return 0 ;; *) return 1 ;; esac
}

# How admins are reached: services do not have the environment of whoever installs them.
set_way_out() {
  for name in https_proxy http_proxy no_proxy; do
    upper=$(printf '%s' "$name" | tr '[:lower:]' '[:upper:]')
    eval "value=\${$name:-\${$upper:-}}"
    [ -z "$value" ] || set_setting "$upper" "$value"
  done
  [ -z "$CA_FILE" ] || set_setting NODE_EXTRA_CA_CERTS "$AUTHORITY"
}

# Settings are changed in a copy that only this user reads, and come into their place whole.
begin_settings() {
  SETTINGS=$1
  (
    umask 077
    if [ -e "$1" ]; then
      cat "$1" >"$1.new"
    else
      printf '# %s\n' "$2" >"$1.new"
    fi
  )
}

# set_setting NAME VALUE. In single quotes, which a service manager and a shell read alike.
set_setting() {
  case $2 in *\'* | *"$NEWLINE"*) fail "$1 holds a quote or a line break, which a file of settings cannot." ;; esac
  unset_setting "$1"
  printf "%s='%s'\n" "$1" "$2" >>"$SETTINGS.new"
}

unset_setting() {
  (
    umask 077
    sed "/^$1=/d" "$SETTINGS.new" >"$SETTINGS.newer"
  )
  mv -f "$SETTINGS.newer" "$SETTINGS.new"
}

end_settings() {
  replace "$SETTINGS"
}

# Whether anything that services read when they start is another than before.
CHANGED=no

# replace FILE: FILE.new comes into its place. The same one stays.
replace() {
  if cmp -s "$1.new" "$1" 2>/dev/null; then
    rm -f "$1.new"
  else
    mv -f "$1.new" "$1"
    CHANGED=yes
  fi
}

# A key that was used is of no more use here, and one of many uses is of too much use to who steals the machine.
forget_key() {
  [ "$KEEP_KEY" = no ] || return 0
  [ -n "$(setting_in "$AGENT_ENV" ENROLLMENT_KEY)$(setting_in "$AGENT_ENV" RECOVERY_KEY)" ] || return 0
  begin_settings "$AGENT_ENV" ''
  unset_setting ENROLLMENT_KEY
  unset_setting RECOVERY_KEY
  end_settings
}
