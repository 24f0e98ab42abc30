/** Streams of tunnels at the agent: the settings of the admin say how long they may be idle, and how old. */
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { tunnelJoins } from '../../../../../agent/access/tunnel/joins.ts';
import { Joins, SWEEP_MS, type JoinsOptions } from '../../../../../transport/net/streams/join.ts';
import { createFakeClock } from '../../../../support/fake-clock.ts';
import { tcpPair } from '../../../../support/net/stream-pairs.ts';

const HOUR_MS = 3_600_000;

/** A stream through an admin of these settings, and its agent. */
async function stream(t: ExecutionContext, settings: JoinsOptions) {
  const clock = createFakeClock();
  const [admin, agent] = [new Joins({ ...settings, clock }), tunnelJoins(clock)];
  const [client, tunnel, target] = await Promise.all([tcpPair(t), tcpPair(t), tcpPair(t)]);
  admin.join(client.ours, tunnel.ours);
  agent.join(tunnel.theirs, target.ours);
  const say = async () => {
    client.theirs.write('select 1');
    await once(target.theirs, 'data');
  };
  return { clock, admin, agent, say };
}

test('a stream of a tunnel is idle for as long as its admin is set to, and is cut by that', async (t) => {
  const { clock, admin, agent, say } = await stream(t, { idleMsMax: 4 * HOUR_MS });
  await say();

  clock.pass(3 * HOUR_MS);
  t.deepEqual([admin.open, agent.open], [1, 1]);
  clock.pass(HOUR_MS + SWEEP_MS); // it counts from when the bytes were seen

  t.is(admin.ends.idle, 1);
});

test('a stream of a tunnel becomes as old as its admin is set to, and is cut by that', async (t) => {
  const { clock, admin, agent, say } = await stream(t, { lifeMsMax: 36 * HOUR_MS, idleMsMax: 20 * HOUR_MS });

  for (let hours = 0; hours < 36; hours += 12) {
    await say();
    t.deepEqual([admin.open, agent.open], [1, 1], `after ${hours} h`);
    clock.pass(12 * HOUR_MS);
  }

  t.is(admin.ends.deadline, 1);
});
