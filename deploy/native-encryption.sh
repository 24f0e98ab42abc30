#!/bin/sh
# What npm runs after an installation: builds the native encryption of ssh2 for the Node that came along, whose headers
# lie beside it. npm itself would build for the system's Node. Without a compiler SSH works all the same, in JavaScript.
node=$(readlink -f node_modules/.bin/node) && [ -x "$node" ] && [ -d node_modules/ssh2 ] || exit 0
npm_config_nodedir=${node%/bin/node}
export npm_config_nodedir
log=$(cd node_modules/ssh2 && "$node" install.js 2>&1)
case $log in
  *Succeeded*) ;;
  *) echo "SSH is slower here, as its native encryption could not be built: that takes python3, make and g++" >&2 ;;
esac
exit 0
