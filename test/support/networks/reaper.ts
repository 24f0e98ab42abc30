/**
 * Removes what a test process made and could not remove, because it was killed: namespaces with all that runs in them,
 * directories and sockets.
 */
import { spawn } from 'node:child_process';

/** What belongs to this process, as patterns of a shell. */
export interface Belongings {
  /** Names of network namespaces. */
  readonly namespaces: string;
  /** Paths of files and directories. */
  readonly paths: readonly string[];
}

/**
 * Reads until the test process is gone, whose end of the pipe no kill leaves open; then looks through the namespaces
 * until nothing runs in them, and removes them. What ended in order left nothing to find.
 */
const SCRIPT = `
cat > /dev/null
cd /run/netns 2> /dev/null || exit 0
pattern=$1; shift
for name in $pattern; do
  [ -e "$name" ] || continue
  for turn in 1 2 3 4 5 6 7 8 9 10; do
    pids=$(ip netns pids "$name")
    [ -n "$pids" ] || break
    kill -9 $pids
    sleep 0.2
  done
  ip netns delete "$name"
done
for path in "$@"; do rm -rf $path; done
`;

const watched = new Set<string>();

/** From now on these are removed when this process is gone. Once for each pattern; nothing of it keeps the process. */
export function reapAfterDeath({ namespaces, paths }: Belongings): void {
  if (watched.has(namespaces)) return;
  watched.add(namespaces);
  // Of a session of its own: a signal to the group of the test does not reach it.
  const reaper = spawn('sh', ['-c', SCRIPT, 'sh', namespaces, ...paths], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  reaper.on('error', () => {}); // without it the next test removes what is left
  reaper.unref();
  const { stdin } = reaper;
  stdin.on('error', () => {});
  (stdin as unknown as { unref?: () => void }).unref?.();
}
