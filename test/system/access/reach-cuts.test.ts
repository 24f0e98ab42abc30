/** Connections to a machine whose agent dies, freezes, or whose node is deleted: no end of them is left hanging. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { TUNNEL_PING_MS, TUNNEL_SILENCE_MS_MAX } from '../../../transport/protocol/tunnel.ts';
import { BUSY_MS, hangAfter, scaled } from '../../support/busy.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { freeze } from '../../support/frozen.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import {
  allow,
  closedAfterMs,
  connectThrough,
  endOf,
  streamThrough,
  wordsTo,
} from '../../support/net/reach-fixture.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { target } from '../../support/net/listening.ts';
import { startClient } from '../../support/ssh/openssh.ts';

const withSsh = await peerTest('ssh', 'ssh-keygen', 'ncat');
const fleet = sharedFleet(test, { agents: 3 });

/** Both ends are closed within this after the death of an agent, in ms. Source: docs/limits.md. */
const CUT_MS_MAX = 5_000;

/** What is deleted ends within this, in ms. Source: docs/promises.md, E5. */
const REVOKED_MS_MAX = 1_000 + BUSY_MS;

/** A slow look of the sweep, and a busy machine, in ms. */
const SLACK_MS = 3_000;

/** A stream through the admin to a target behind an agent, with both ends in hand; bytes flow. */
async function stream(
  t: ExecutionContext,
  place: number,
): Promise<{ readonly near: Socket; readonly far: Socket; readonly node: NodeResource; readonly port: number }> {
  const arrived = Promise.withResolvers<Socket>();
  const port = await target(t, (socket) => {
    arrived.resolve(socket);
    socket.pipe(socket);
  });
  const node = await fleet().node(fleet().agent(place));
  const near = await streamThrough(fleet().admin().httpProxyPort, `${node.vpn_hostname}:${port}`);
  t.teardown(() => void near.destroy());
  near.write('there');
  t.is(String((await once(near, 'data'))[0]), 'there');
  near.resume();
  return { near, far: await arrived.promise, node, port };
}

test.serial('a stream that was cut is not taken for a whole answer', async (t) => {
  const { near, far } = await stream(t, 2);
  const end = endOf(near);

  far.resetAndDestroy();

  t.is(await end, 'ECONNRESET');
});

test('an agent that is killed takes nobody with it: both ends are closed, and it is reached again when it is back', async (t) => {
  const { near, far, node, port } = await stream(t, 0);

  const killedMs = performance.now();
  const ends = Promise.all([closedAfterMs(near, killedMs), closedAfterMs(far, killedMs)]);
  await fleet().agent().kill();
  const tookMs = Math.max(...(await ends));
  const { status } = await connectThrough(fleet().admin().httpProxyPort, `${node.vpn_hostname}:${port}`);
  fleet().agent().start();
  const again = await until(
    'a stream to it',
    async () => (await connectThrough(fleet().admin().httpProxyPort, `${node.vpn_hostname}:${port}`)).stream,
  );
  again.destroy();

  t.true(tookMs < scaled(CUT_MS_MAX), `${tookMs} ms`);
  t.is(status, 503);
  t.deepEqual(
    fleet()
      .agent()
      .program.lines()
      .filter(({ level }) => level === 'warn'),
    [],
    'who asks for it while it comes back does not disturb it',
  );
});

test('an agent that is frozen is given up, and lets go of its targets when it wakes', async (t) => {
  t.timeout(hangAfter(120_000));
  const { near, far, node, port } = await stream(t, 1);

  const frozenMs = performance.now();
  const [nearMs, farEnd] = [closedAfterMs(near, frozenMs), closedAfterMs(far)];
  t.teardown(() => fleet().agent(1).program.resume());
  await freeze(fleet().agent(1).program);
  const waitedMs = performance.now();
  // on the tunnel that seems alive
  const { status } = await connectThrough(fleet().admin().httpProxyPort, `${node.vpn_hostname}:${port}`);
  const answeredMs = performance.now() - waitedMs;
  const tookMs = await nearMs;
  fleet().agent(1).program.resume();
  const wokeMs = performance.now();
  await farEnd;

  t.true([503, 504].includes(status), String(status));
  t.true(answeredMs < scaled(20_000), `${answeredMs} ms`);
  t.true(tookMs < scaled(TUNNEL_SILENCE_MS_MAX + TUNNEL_PING_MS + SLACK_MS), `${tookMs} ms`);
  t.true(performance.now() - wokeMs < scaled(CUT_MS_MAX));
});

withSsh(
  'the deletion of a node ends what runs there over SSH, through the admin and past it, with its forwards',
  async (t) => {
    const directory = temporaryDirectory(t);
    const agent = fleet().agent(2);
    const node = await fleet().node(agent);
    const login = await allow(fleet(), node.id, 'deploy', directory);
    const { near } = await stream(t, 2);
    const clients = [fleet().admin(), null].map((admin) =>
      startClient(t, 'ssh', [...wordsTo(node, login, admin), 'echo begun; exec sleep 1007']),
    );
    await Promise.all(clients.map((client) => once(client.stdout, 'data')));

    const deletion = settledAnswer(() => fleet().rest.call('DELETE', `/nodes/${node.id}`));
    const ends = Promise.all([near, ...clients].map((one) => closedAfterMs(one)));
    await deletion;
    const deletedMs = performance.now();
    await ends;
    const tookMs = performance.now() - deletedMs;

    t.true(tookMs < scaled(REVOKED_MS_MAX), `${tookMs} ms`);
  },
);
