/** Tunnels of agents that say nothing, and of admins that stand still. */
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import test from 'ava';
import { TUNNEL_PING_MS, TUNNEL_SILENCE_MS_MAX } from '../../../../transport/protocol/tunnel.ts';
import { TUNNEL_SWEEP_MS } from '../../../../transport/tunnels/limits.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { target } from '../../../support/net/listening.ts';
import { NODE, tunnelsFixture } from '../../../support/net/tunnels-fixture.ts';
import { until } from '../../../support/until.ts';

test('an admin that stood still takes no tunnel for dead that answered before: it asks again', async (t) => {
  const clock = createFakeClock();
  let stoodMs = 0;
  const { reach, tunnels } = await tunnelsFixture(t, {
    clock: { ...clock, nowMs: () => clock.nowMs() + stoodMs },
  });
  const port = await target(t, (socket) => socket.pipe(socket));
  const reached = await reach(port);
  if (!reached.ok) throw new Error(reached.message);
  const { stream } = reached;
  clock.pass(TUNNEL_PING_MS);
  stream.write('behind the answer to the ping');
  await once(stream, 'data');

  stoodMs = TUNNEL_SILENCE_MS_MAX;
  clock.pass(TUNNEL_SWEEP_MS);

  t.false(stream.destroyed);
  stream.write('on');
  await once(stream, 'data');
  t.is(tunnels.count(), 1);
});

test('a tunnel whose agent answers no ping is ended', async (t) => {
  const clock = createFakeClock();
  const { tunnels } = await tunnelsFixture(t, { clock, opens: false });
  const deaf = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });

  tunnels.accept(NODE, () => deaf, 'url');
  clock.pass(TUNNEL_SILENCE_MS_MAX);
  t.false(deaf.destroyed);
  clock.pass(TUNNEL_PING_MS);

  await until('its end', () => deaf.destroyed && tunnels.count() === 0);
});
