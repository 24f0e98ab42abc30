#!/bin/sh
# The Node that the package edge-runtime brings, else one on the path: edge says itself when that is too old.
node=/usr/lib/edge-runtime/bin/node
[ -x "$node" ] || node=node
exec "$node" /usr/share/edge-cli/edge "$@"
