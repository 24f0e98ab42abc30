# What the setups of all packages say to the service manager, where systemd is it. Sourced.
# shellcheck shell=sh

has_systemd() {
  [ -d /run/systemd/system ] && command -v systemctl >/dev/null
}

# By Debian's way where it is there, which asks the policy of the machine whether services may be started.
service() {
  if command -v deb-systemd-invoke >/dev/null; then
    deb-systemd-invoke "$@" || true
  else
    systemctl "$@" || true
  fi
}
