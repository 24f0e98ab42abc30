/** `edge run` and `edge logs` whose reader stands still, in front of a machine that says more than anybody reads. */
import { writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { TAIL_PIECE_BYTES } from '../../../api/feeds/limits.ts';
import { UNWRITTEN_BYTES_MAX } from '../../../cli/run/unwritten.ts';
import { startEdge } from '../../support/edge-program.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { listening } from '../../support/net/listening.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** Twice as much as may wait, in numbered lines. An agent that keeps as much has all of it when it is read late. */
const OUTPUT = Array.from({ length: UNWRITTEN_BYTES_MAX / 512 }, (_none, line) => `${line} `.padEnd(1_023, '.')).join(
  '\n',
);
const KEPT_BYTES = '16777216';

/**
 * What was kept when there was enough, at most: the limit, a piece, and what the pipe had taken. The rest must come
 * again.
 */
const HELD_BYTES_MAX = UNWRITTEN_BYTES_MAX + TAIL_PIECE_BYTES + 1_048_576;

/** Nothing came for so long, in ms: what was on its way has arrived, and was let go. */
const QUIET_MS = 500;

const fleet = sharedFleet(test, {
  agents: 1,
  agentEnv: { AGENT_ALIASES: 'web-1', COMMAND_OUTPUT_MAX_BYTES: KEPT_BYTES },
});

/** The way to the admin, on which is counted what it says. */
async function counted(t: ExecutionContext): Promise<{ readonly url: string; bytes(): number }> {
  const { hostname, port } = new URL(fleet().admins[0]?.url ?? '');
  let bytes = 0;
  const between = createServer((socket) => {
    const behind = connect(Number(port), hostname);
    behind.on('data', (chunk) => {
      bytes += chunk.length;
    });
    socket.on('error', () => behind.destroy()).on('close', () => behind.destroy());
    behind.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.pipe(behind).pipe(socket);
  });
  return { url: `http://127.0.0.1:${await listening(t, between)}`, bytes: () => bytes };
}

for (const word of ['run', 'logs'] as const)
  test(`edge ${word} holds no more than may wait while its reader stands still, and asks for the rest when it is read`, async (t) => {
    const directory = temporaryDirectory(t);
    const [log, read] = [join(directory, 'log'), join(directory, 'read')];
    writeFileSync(log, `${OUTPUT}\n`);
    const way = await counted(t);
    const words = {
      run: ['run', '-n', 'web-1', '--', `cat '${log}'; until test -e '${read}'; do sleep 0.1; done`],
      logs: ['logs', 'web-1', '--file', log, '--lines', '1000000', '-f'],
    };
    const running = startEdge(words[word], { EDGE_URL: way.url, EDGE_API_KEY: FLEET_KEYS.API_KEY });
    t.teardown(() => void running.process.kill('SIGKILL'));
    running.process.stdout.pause();

    let [last, lastMs] = [0, performance.now()];
    await until('quiet', () => {
      if (way.bytes() !== last) [last, lastMs] = [way.bytes(), performance.now()];
      return last > UNWRITTEN_BYTES_MAX && performance.now() - lastMs > QUIET_MS;
    });
    const before = way.bytes();
    running.process.stdout.resume();
    const prefix = word === 'run' ? 'web-1: ' : '';
    const lines = OUTPUT.split('\n').map((line) => `${prefix}${line}\n`);
    const whole = lines.join('');
    await until('all of it', () => running.stdout.length >= whole.length);
    writeFileSync(read, '');
    const { status, stdout, stderr } = await (word === 'run' ? running.ended : running.interrupt());

    const after = way.bytes() - before;
    t.true(after > OUTPUT.length - HELD_BYTES_MAX, `${after} bytes came when it was read`);
    t.is(status, 0, stderr);
    t.true(stdout === whole, `${stdout.length} characters of ${whole.length}`);
    t.notRegex(stderr, /gone before|was stored/u);
  });
