/** A path to the service that forgets a connection: nothing comes through any more, and nobody is told. */
import { connect, createServer, type Socket } from 'node:net';
import test from 'ava';
import { startEdge } from '../../support/edge-program.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { listening } from '../../support/listening.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import type { Scope } from '../../support/scope.ts';

const fleet = sharedFleet(test, { agents: 1 });

/** Until the silence is noticed, the command is over and all has ended: 21 s on a machine that does nothing else. In ms. */
const RUN_MS_MAX = 60_000;

test('edge run goes on over another connection, tells all, and ends', async (t) => {
  const path = await forgetfulPath(t, new URL(fleet().admin().url));
  const edge = startEdge(['run', '--all', '--', 'echo begun; sleep 4; echo ended'], {
    EDGE_URL: `http://127.0.0.1:${path.port}`,
    EDGE_API_KEY: FLEET_KEYS.API_KEY,
  });
  await edge.says('stdout', /begun/u);
  path.forget();

  const { status, stdout, stderr } = await edge.endedWithin(RUN_MS_MAX);

  t.is(status, 0, stderr);
  t.regex(stdout, /: begun\n.*: ended\n$/u);
  t.true(path.forgotten() > 0);
});

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
