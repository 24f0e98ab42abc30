/** Tunnels of agents that say nothing, and of admins that stand still. */
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import type { Intake } from '../../../../transport/net/streams/paced-pieces.ts';
import { TUNNEL_PING_MS, TUNNEL_SILENCE_MS_MAX } from '../../../../transport/protocol/tunnel.ts';
import { TUNNEL_SWEEP_MS } from '../../../../transport/tunnels/limits.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { target } from '../../../support/net/listening.ts';
import { NODE, tunnelsFixture } from '../../../support/net/tunnels-fixture.ts';
import { until } from '../../../support/until.ts';

/** Frames of HTTP/2: that an agent has no wishes, and that it asks. Source: RFC 9113, 6.5 and 6.7. */
const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
const PING = Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0, ...Buffer.from('are you?')]);

/** Until what came was read. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
}

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

test('an agent that says something now and then is not asked for a sign of life', async (t) => {
  const clock = createFakeClock();
  const { tunnels } = await tunnelsFixture(t, { clock, opens: false });
  let asked = 0;
  const agent = new Duplex({
    read: () => {},
    write(chunk: Buffer, _encoding, done) {
      if (chunk.length === PING.length && chunk[3] === PING[3] && chunk[4] === 0) asked += 1;
      done();
    },
  });
  let say = (_frame: Buffer): void => {};
  const open = (intake: Intake): Duplex => {
    say = (frame) => {
      intake.take(frame);
      agent.push(frame);
    };
    return agent;
  };
  tunnels.accept(NODE, open, 'url');
  say(SETTINGS);

  for (let passedMs = 0; passedMs < 2 * TUNNEL_SILENCE_MS_MAX; passedMs += TUNNEL_PING_MS / 2) {
    say(PING);
    await turns();
    clock.pass(TUNNEL_PING_MS / 2);
  }
  const askedMeanwhile = asked;
  clock.pass(TUNNEL_PING_MS);
  await until('it to be asked', () => asked > 0);

  t.deepEqual([askedMeanwhile, tunnels.count()], [0, 1]);
});
