#!/bin/sh
exec /usr/lib/edge-runtime/bin/node /usr/lib/edge-admin/programs/edge-admin.js "$@"
