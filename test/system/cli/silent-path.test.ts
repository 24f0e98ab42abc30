/**
 * Paths to the service that forget a connection, so that nothing comes through any more and nobody is told, or that cut
 * it before the answer is through.
 */
import { writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import test from 'ava';
import { startEdge } from '../../support/edge-program.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { listening } from '../../support/net/listening.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import type { Scope } from '../../support/scope.ts';

const fleet = sharedFleet(test, { agents: 1 });

/**
 * Until the silence is noticed, the command is over and all has ended: 21 s on a machine that does nothing else. In ms.
 */
const RUN_MS_MAX = 60_000;

test('edge run goes on over another connection, tells all, and ends', async (t) => {
  const path = await forgetfulPath(t, new URL(fleet().admin().url));
  const end = join(fleet().directory, 'end');
  const edge = startEdge(['run', '--all', '--', `echo begun; until test -e ${end}; do sleep 0.1; done; echo ended`], {
    EDGE_URL: `http://127.0.0.1:${path.port}`,
    EDGE_API_KEY: FLEET_KEYS.API_KEY,
  });
  await edge.says('stdout', /begun/u);
  path.forget();
  writeFileSync(end, '');

  const { status, stdout, stderr } = await edge.endedWithin(RUN_MS_MAX);

  t.is(status, 0, stderr);
  t.regex(stdout, /: begun\n.*: ended\n$/u);
  t.true(path.forgotten() > 0);
});

test('edge run runs a command once whose answer was lost, and says of what it cannot send again that it may be done', async (t) => {
  const { rest } = fleet();
  const path = await cuttingPath(t, new URL(fleet().admin().url));
  const env = { EDGE_URL: path.url, EDGE_API_KEY: FLEET_KEYS.API_KEY };
  await rest.post('/clusters', { name: 'cut-off' });

  path.cutAnswerOf('create_command');
  const run = await startEdge(['run', '--all', '--', 'echo once'], env).ended;
  path.cutAnswerOf('delete_cluster');
  const removal = await startEdge(['cluster', 'rm', 'cut-off'], env).ended;

  t.is(run.status, 0, run.stderr);
  t.regex(run.stdout, /: once\n$/u);
  const commands = await rest.get<readonly { readonly command_text: string }[]>('/commands');
  t.is(commands.filter(({ command_text: text }) => text === 'echo once').length, 1);
  t.is(removal.status, 1);
  t.is(
    removal.stderr,
    `edge: ${path.url} took the call, and its answer was lost: what was asked for may be done. Look before you ask again\n`,
  );
  t.is(path.cuts(), 2);
});

/** Passes everything on, but cuts the next connection by which an operation is answered that was named. */
async function cuttingPath(scope: Scope, { hostname, port }: URL) {
  let operation: string | null = null;
  let cuts = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    let isAsked = false;
    const end = (): void => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.on('error', () => {}).on('close', end);
    near.on('data', (bytes) => {
      isAsked ||= operation !== null && bytes.includes(`/${operation} `);
      far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (!isAsked) return near.write(bytes);
      cuts += 1;
      operation = null;
      return end();
    });
  });
  return {
    url: `http://127.0.0.1:${await listening(scope, server)}`,
    cutAnswerOf(next: string): void {
      operation = next;
    },
    cuts: () => cuts,
  };
}

/** Passes everything on. What is connected when it forgets stays open, and nothing comes through. */
async function forgetfulPath(scope: Scope, { hostname, port }: URL) {
  const sockets = new Set<Socket>();
  let forgotten = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
      scope.teardown(() => void socket.destroy());
    }
    near.pipe(far).pipe(near);
  });
  return {
    port: await listening(scope, server),
    forget(): void {
      for (const socket of sockets) socket.unpipe().pause();
      forgotten = sockets.size;
    },
    forgotten: () => forgotten,
  };
}
