/**
 * Programs that do for the updater what the agent and its updater do, and misbehave as a test wants. They are scripts
 * for a shell, which starts in a hundredth of the time that Node takes.
 */

/** What it does when it is started. */
export type Behaviour = 'well' | 'crashes' | 'hangs' | 'not-connected' | 'ill' | 'refuses' | 'other-version';

/** Its text. It writes health.json five times a second. */
export function smallAgent(version: string, behaviour: Behaviour): string {
  return `
version='${version}' behaviour='${behaviour}'
case \${1:-} in
--version) [ $behaviour = other-version ] && echo 9.9.9 || echo $version ;;
check) [ $behaviour != refuses ] || { echo 'the journal is of a later version' >&2; exit 1; } ;;
*)
  case $behaviour in
  crashes) echo 'it crashes' >&2; exit 1 ;;
  hangs) exec sleep infinity ;;
  ill) health='"services_ok":false,"problems":["ssh: the port is taken"]' ;;
  *) health='"services_ok":true,"problems":[]' ;;
  esac
  mkdir -p "$AGENT_DATA_DIR" && cd "$AGENT_DATA_DIR" || exit 1
  started=$(date +%s%3N)
  while :; do
    if [ $behaviour = not-connected ]; then connected=null answered=null; else connected=$started answered=$(date +%s%3N); fi
    echo "{\\"pid\\":$$,\\"version\\":\\"$version\\",\\"started_at\\":$started,\\"connected_since\\":$connected,$health,\\"last_answer_at\\":$answered}" >health.json.new
    mv health.json.new health.json
    sleep 0.2
  done
  ;;
esac
`;
}

/** What an updater does when it is to serve. `lives`: it says so until somebody removes starts-updater. */
export type Serving = 'ends' | 'hangs' | 'lives';

/** The text of an updater that passes its check. */
export function smallUpdater(version: string, serving: Serving = 'ends'): string {
  return `
[ "\${1:-}" = --version ] && echo '${version}' || echo 'ok ${version}'
case "\${1:-} ${serving}" in
'serve hangs') exec sleep infinity ;;
'serve lives')
  while :; do
    [ ! -e "$UPDATER_DIR/starts-updater" ] || : >"$UPDATER_DIR/updater-alive"
    sleep 0.2
  done
  ;;
esac
`;
}

/** A runtime for them. */
export const SHELL_RUNTIME = '#!/bin/sh\nexec /bin/sh "$@"\n';

/** A runtime that is this process's Node, without its 127 MB. */
export function smallRuntime(): string {
  return `#!/bin/sh\nexec '${process.execPath}' "$@"\n`;
}
