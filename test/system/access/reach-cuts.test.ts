/** Connections to a machine whose agent dies, freezes, or whose node is deleted: no end of them is left hanging. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { TUNNEL_PING_MS, TUNNEL_SILENCE_MS_MAX } from '../../../transport/protocol/tunnel.ts';

import { BUSY_MS, hangAfter, patient } from '../../support/busy.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { target } from '../../support/tunnels-fixture.ts';
import {
  adminOf,
  agentOf,
  allow,
  closedAfterMs,
  connectThrough,
  sshWords,
  startClient,
  streamThrough,
  through,
} from '../../support/reach-fixture.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

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
  const node = await fleet().node(agentOf(fleet(), place));
  const near = await streamThrough(adminOf(fleet()).httpProxyPort, `${node.vpn_hostname}:${port}`);
  t.teardown(() => {
    near.destroy();
  });
  near.write('there');
  t.is(String((await once(near, 'data'))[0]), 'there');
  near.resume();
  return { near, far: await arrived.promise, node, port };
}

test.serial('a stream that was cut is not taken for a whole answer', async (t) => {
  const { near, far } = await stream(t, 2);
  const seen = new Promise<string>((resolve) => {
    near.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? '')).once('end', () => resolve('end'));
  });

  far.resetAndDestroy();

  t.is(await seen, 'ECONNRESET');
});

test('an agent that is killed takes nobody with it: both ends are closed, and it is reached again when it is back', async (t) => {
  const { near, far, node, port } = await stream(t, 0);

  const killedMs = performance.now();
  const ends = Promise.all([closedAfterMs(near, killedMs), closedAfterMs(far, killedMs)]);
  await agentOf(fleet(), 0).kill();
  const tookMs = Math.max(...(await ends));
  const { status } = await connectThrough(adminOf(fleet()).httpProxyPort, `${node.vpn_hostname}:${port}`);
  agentOf(fleet(), 0).start();
  const again = await until(
    'a stream to it',
    async () => (await connectThrough(adminOf(fleet()).httpProxyPort, `${node.vpn_hostname}:${port}`)).stream,
  );
  again.destroy();

  t.true(tookMs < patient(CUT_MS_MAX), `${tookMs} ms`);
  t.is(status, 503);
  t.is(
    agentOf(fleet(), 0)
      .program.lines()
      .filter(({ level }) => level === 'warn').length,
    0,
    'who asks for it while it comes back does not disturb it',
  );
});

test('an agent that is frozen is given up, and lets go of its targets when it wakes', async (t) => {
  t.timeout(hangAfter(120_000));
  const { near, far, node, port } = await stream(t, 1);

  const frozenMs = performance.now();
  const [nearMs, farEnd] = [closedAfterMs(near, frozenMs), closedAfterMs(far)];
  agentOf(fleet(), 1).program.pause();
  t.teardown(() => {
    agentOf(fleet(), 1).program.resume();
  });
  const waitedMs = performance.now();
  // on the tunnel that seems alive
  const { status } = await connectThrough(adminOf(fleet()).httpProxyPort, `${node.vpn_hostname}:${port}`);
  const answeredMs = performance.now() - waitedMs;
  const tookMs = await nearMs;
  agentOf(fleet(), 1).program.resume();
  const wokeMs = performance.now();
  await farEnd;

  t.true([503, 504].includes(status), String(status));
  t.true(answeredMs < patient(20_000), `${answeredMs} ms`);
  t.true(tookMs < patient(TUNNEL_SILENCE_MS_MAX + TUNNEL_PING_MS + SLACK_MS), `${tookMs} ms`);
  t.true(performance.now() - wokeMs < patient(CUT_MS_MAX));
});

test('the deletion of a node ends what runs there over SSH, through the admin and past it, with its forwards', async (t) => {
  const directory = temporaryDirectory(t);
  const agent = agentOf(fleet(), 2);
  const node = await fleet().node(agent);
  const { path } = await allow(fleet(), node.id, 'deploy', directory);
  const { near } = await stream(t, 2);
  const asked = 'echo begun; exec sleep 1007';
  const over = startClient(t, 'ssh', [
    ...sshWords(directory, path),
    ...through(adminOf(fleet())),
    '-p',
    String(node.ssh_port),
    `deploy@${node.vpn_hostname}`,
    asked,
  ]);
  const past = startClient(t, 'ssh', [
    ...sshWords(directory, path),
    '-p',
    String(node.ssh_port),
    'deploy@127.0.0.1',
    asked,
  ]);
  await Promise.all([over, past].map((client) => once(client.stdout, 'data')));

  const deletion = fleet().rest.call('DELETE', `/nodes/${node.id}`);
  const ends = Promise.all([near, over, past].map((one) => closedAfterMs(one)));
  await deletion;
  const deletedMs = performance.now();
  await ends;
  const tookMs = performance.now() - deletedMs;

  t.true(tookMs < patient(REVOKED_MS_MAX), `${tookMs} ms`);
});
