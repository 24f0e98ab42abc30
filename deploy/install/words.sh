# What is said: what is being done on stderr, one line of the end on stdout.

# What a failure leaves behind, as the end of its line. Steps change it.
LEFT='Nothing was changed.'

# One line, and the end: what is wrong, where, what to do; then what was left.
fail() {
  printf 'install.sh: %s %s\n' "$1" "$LEFT" >&2
  exit 1
}

# A mistake in what was typed.
misuse() {
  printf 'install.sh: %s\n' "$1" >&2
  exit 2
}

note() {
  printf '%s\n' "$1" >&2
}

# act WHAT COMMAND...: does it, or says so under --dry-run.
act() {
  act_what=$1
  shift
  if [ "$DRY_RUN" = yes ]; then
    printf 'would %s\n' "$act_what"
  else
    "$@"
  fi
}

# Whether this is for real.
is_real() {
  [ "$DRY_RUN" = no ]
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# Half a second, or a whole one where sleep knows no fractions.
pause() {
  sleep 0.5 2>/dev/null || sleep 1
}

usage() {
  cat <<'USAGE'
Makes this machine a node of a fleet, or takes that back.

  curl -fsSL ADMIN/install.sh | sudo sh -s -- --key KEY [options]
  curl -fsSL ADMIN/install.sh | sh -s -- --user --key KEY      without root, below ~/.local

  --key KEY               enrollment key; other users see it in the list of processes while this runs. Better:
  --key-file FILE         file that holds it; without either, the variable EDGE_KEY
  --recovery-key-file FILE  file with a recovery key, for a machine that lost its data
  --keep-key              leave the enrollment key in the settings after it was used
  --name NAME             alias of the node, several with commas
  --labels LABELS         such as env=prod,site=hall-3
  --admin URL             admin to use instead of those that serve this script, several with commas
  --ca-file FILE          certificate authority of the admin, where the machine does not trust it
  --channel NAME          channel of releases, stable unless given
  --user                  for this user alone, without root
  --init KIND             systemd, openrc or none, where it cannot be seen, as in an image
  --no-start              install and enable only, as for an image
  --no-self-update        take no part in managed self-updates
  --no-updater            install no updater either; the program stays as it is
  --dry-run               say what would be done, and change nothing
  --uninstall             stop and remove the programs; identity, data and settings stay
  --purge                 with --uninstall: remove these too
  --leave                 with --purge: remove the node at the admin as well
  --help

https_proxy, http_proxy and no_proxy are used, and kept in the settings of the agent.
USAGE
}
