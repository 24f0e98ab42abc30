/** Who is told how to enter a VPN, and when. */
import test from 'ava';
import { v7 } from 'uuid';
import { Invitations, INVITE_AGAIN_MS } from '../../../../supervisors/vpn/invitations.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';

test('machines in no VPN are told once how to enter, and again after a while; absent ones, or without one, are not', async (t) => {
  const clock = createFakeClock();
  const [here, away, early] = [v7() as NodeId, v7() as NodeId, v7() as NodeId];
  const sent: unknown[] = [];
  let looks = 0;
  let wakes = 0;
  const invitations = new Invitations({
    manager: {
      networks: async () => [{ name: 'cluster-a', ipv4Range: '10.0.0.0/24', ipv6Range: 'fd00::/64' }],
      joinToken: async (network) => `token-of-${network}`,
    },
    rows: {
      wake: async () => {
        wakes += 1;
      },
      uninvited: async () => {
        looks += 1;
        return [
          { node: here, network: 'cluster-a' },
          { node: away, network: 'cluster-a' },
          { node: early, network: 'cluster-b' },
        ];
      },
    },
    sessions: { has: (node) => node !== away, send: (node, frame) => sent.push({ node, ...frame }) > 0 },
    clock,
    log: recordingLog(),
  });
  t.teardown(() => invitations.stop());
  const look = async (ms: number): Promise<void> => {
    const before = looks;
    await until('a wait', () => clock.waiting() > 0);
    clock.pass(ms);
    await until('a look', () => looks > before);
  };
  const invitation = { node: here, type: 'netmaker-join', network: 'cluster-a', token: 'token-of-cluster-a' };

  invitations.start();
  await look(1_000);
  await until('the invitation', () => sent.length === 1);
  for (let looked = 0; looked < 4; looked += 1) await look(3_000);
  t.true(wakes >= 4, 'who was told is looked for');
  t.deepEqual(sent, [invitation]);
  await look(INVITE_AGAIN_MS); // whose look comes before that is over
  await look(15_000);
  await until('the second invitation', () => sent.length === 2);
  t.deepEqual(sent, [invitation, invitation]);
});

test('where more machines than one look tells never enter, each of them has its turn', async (t) => {
  const clock = createFakeClock();
  const nodes = Array.from({ length: 450 }, () => v7() as NodeId).toSorted();
  const told: NodeId[] = [];
  const invitations = new Invitations({
    manager: {
      networks: async () => [{ name: 'cluster-a', ipv4Range: '10.0.0.0/24', ipv6Range: 'fd00::/64' }],
      joinToken: async () => 'token',
    },
    rows: {
      wake: () => Promise.resolve(),
      uninvited: async (limit, after) =>
        nodes
          .filter((node) => after === null || node > after)
          .slice(0, limit)
          .map((node) => ({ node, network: 'cluster-a' })),
    },
    sessions: { has: () => true, send: (node) => told.push(node) > 0 },
    clock,
    log: recordingLog(),
  });
  t.teardown(() => invitations.stop());

  invitations.start();
  for (const count of [200, 400, 600]) {
    await until('a wait', () => clock.waiting() > 0);
    clock.pass(INVITE_AGAIN_MS);
    await until('the invitations', () => told.length === count);
  }

  t.deepEqual(told, [...nodes, ...nodes.slice(0, 150)]);
});
