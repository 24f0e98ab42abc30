#!/bin/sh
# Makes the secrets of compose.yml, each in a file of its own below secrets/. Those that are there stay as they are.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
# The containers' users are not ours: the directory keeps others out, and the files may be read below it.
make() {
  [ -s "secrets/$1" ] || { printf '%s' "$2" > "secrets/$1.new" && chmod 644 "secrets/$1.new" && mv "secrets/$1.new" "secrets/$1"; }
}
make postgres-password "$(openssl rand -hex 24)"
make master-key "$(openssl rand -hex 32)"
make metrics-key "$(openssl rand -hex 32)"
make encryption-key "$(openssl rand -base64 32)"
make grafana-password "$(openssl rand -hex 16)"
make database-url "postgresql://edge:$(cat secrets/postgres-password)@postgres:5432/edge"
echo "the master key, for edge login: $PWD/secrets/master-key"
