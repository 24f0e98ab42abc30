/** When is reconciled, by whom, and what is said while it cannot be. */
import test, { type ExecutionContext } from 'ava';
import { v7 } from 'uuid';
import type { VpnRows } from '../../../../actors/vpn/rows.ts';
import { VpnUnavailable, type VpnManager, type VpnSurvey } from '../../../../actors/vpn/vpn.ts';
import { VPN_LEASE_MS } from '../../../../persistence/vpn/vpn-lease.ts';
import { Invitations, INVITE_AGAIN_MS } from '../../../../supervisors/vpn/invitations.ts';
import { BACK_OFF_MS, CLAIM_MS, COMPARE_MS, Reconciler } from '../../../../supervisors/vpn/reconciler.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';
import { embeddedFixture } from '../../../support/vpn/database-fixture.ts';

const NOTHING: VpnSurvey = { networks: [], hosts: [], members: [], names: [] };
const NETWORK = { name: 'cluster-a', ipv4Range: '10.0.0.0/24', ipv6Range: 'fd00::/64' };

/** A manager and rows in memory: one VPN that should be. */
function committerFixture(t: ExecutionContext, more: Partial<VpnManager> = {}, rows: Partial<VpnRows> = {}) {
  const clock = createFakeClock();
  const log = recordingLog();
  const calls: string[] = [];
  let isMade = false;
  const manager = {
    kind: 'netmaker',
    survey: async () => {
      calls.push('survey');
      return { ...NOTHING, networks: isMade ? [NETWORK] : [] };
    },
    ensureNetwork: async () => {
      calls.push('made');
      isMade = true;
    },
    ...more,
  } as VpnManager;
  const lease = { claim: async () => 1, renew: async () => true, release: async () => void calls.push('released') };
  const stored = {
    moves: async () => [],
    wanted: async () => ({ networks: [{ ...NETWORK, nodes: [] }], gone: [] }),
    lease,
    ...rows,
  } as unknown as VpnRows;
  const reconciler = new Reconciler({
    manager,
    rows: stored,
    leaseMs: VPN_LEASE_MS,
    clock,
    monotonicMs: () => clock.nowMs(),
    leaseClockMs: () => clock.nowMs(),
    random: () => 1,
    log,
  });
  t.teardown(() => reconciler.stop());
  /** Lets time pass whenever the reconciler waits for nothing else. */
  const rest = async (ms: number): Promise<void> => {
    await until('a wait', () => clock.waiting() > 0);
    clock.pass(ms);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  };
  return {
    clock,
    log,
    calls,
    reconciler,
    rest,
    drop: () => {
      isMade = false;
    },
  };
}

test('what differs is repaired at once, looked at again, and then left until somebody tells or a minute is over', async (t) => {
  const { calls, reconciler, rest, drop } = committerFixture(t);

  reconciler.start();
  await until('the VPN', () => calls.includes('made'));
  await rest(1_000);
  await until('a second look', () => calls.filter((call) => call === 'survey').length === 2);
  await rest(1_000);
  await rest(COMPARE_MS.netmaker / 2);
  t.deepEqual(calls, ['survey', 'made', 'survey']);

  drop();
  reconciler.wake();
  await until('the repair', () => calls.filter((call) => call === 'made').length === 2);
  await rest(1_000);
  await rest(1_000);
  drop();
  await until('the repair of what nobody told of', async () => {
    await rest(COMPARE_MS.netmaker);
    return calls.filter((call) => call === 'made').length === 3;
  });
  t.pass();
});

test('a manager that is away is asked later each time, and told of once when it goes and once when it is back', async (t) => {
  let isAway = true;
  let asked = 0;
  const { log, reconciler, rest } = committerFixture(t, {
    survey: async () => {
      asked += 1;
      if (isAway) throw new VpnUnavailable('Netmaker did not answer.');
      return { ...NOTHING, networks: [NETWORK] };
    },
  });

  reconciler.start();
  for (const [tries, waitMs] of [
    [1, BACK_OFF_MS],
    [2, BACK_OFF_MS * 2],
    [3, BACK_OFF_MS * 4],
  ] as const) {
    await until('a try', () => asked === tries);
    reconciler.wake(); // no news makes it come back earlier
    await rest(waitMs - 1);
    t.is(asked, tries);
    await rest(1);
  }
  isAway = false;
  await rest(BACK_OFF_MS * 8);
  await until('its return', () =>
    log.lines.some((line) => line.message === 'the VPN manager does what it should again'),
  );

  t.deepEqual(
    log.lines.filter((line) => line.level === 'warn').map((line) => (line.fields as { problem?: string }).problem),
    ['Netmaker did not answer.'],
  );
});

test('whoever loses the right to reconcile changes nothing more', async (t) => {
  const { calls, reconciler, clock, rest } = committerFixture(
    t,
    {},
    {
      wanted: async () => {
        clock.pass(VPN_LEASE_MS / 2);
        return { networks: [{ ...NETWORK, nodes: [] }], gone: [] };
      },
      lease: {
        claim: async () => (calls.includes('survey') ? null : 1),
        renew: async () => false,
        release: async () => {},
      },
    },
  );

  reconciler.start();
  await until('the round', () => calls.includes('survey'));
  await rest(CLAIM_MS);
  await rest(CLAIM_MS);

  t.deepEqual(calls, ['survey']);
});

test('one admin reconciles at a time, and another goes on when it stops', async (t) => {
  const fixture = await embeddedFixture(t);
  const [one, other] = [await fixture.cluster(), await fixture.cluster()];
  const node = await fixture.node(one);
  await fixture.enter(one, node);
  const clock = createFakeClock();
  const log = recordingLog();
  const make = (rows: VpnRows): Reconciler =>
    new Reconciler({
      manager: fixture.manager,
      rows,
      leaseMs: VPN_LEASE_MS,
      clock,
      monotonicMs: () => clock.nowMs(),
      leaseClockMs: () => clock.nowMs(),
      random: () => 1,
      log,
    });
  const [first, second] = [make(fixture.rowsOf(v7())), make(fixture.rowsOf(v7()))];
  t.teardown(() => second.stop());
  const holder = async () =>
    (await fixture.sql<{ admin_id: string | null; epoch: string }>('select admin_id, epoch from vpn_lease'))[0];
  const movesLeft = async (): Promise<number> => (await fixture.sql('select 1 from mesh_move')).length;

  first.start();
  const held = await until('the first one', async () => {
    const row = await holder();
    return row?.admin_id !== null && row;
  });
  second.start();
  await fixture.move(node, one, other);
  await until('the move to be finished', async () => {
    first.wake();
    clock.pass(500);
    return (await movesLeft()) === 0;
  });
  t.deepEqual(await holder(), held);

  await first.stop();
  await fixture.move(node, other, one);
  await until('the other one to finish the second move', async () => {
    clock.pass(CLAIM_MS);
    return (await movesLeft()) === 0;
  });
  t.not((await holder())?.admin_id, held.admin_id);
});

test('machines that are in no VPN are told once how to enter it, and again after a while; those that are not here, or whose VPN is not made yet, are not', async (t) => {
  const clock = createFakeClock();
  const [here, away, early] = [v7() as NodeId, v7() as NodeId, v7() as NodeId];
  const sent: unknown[] = [];
  let looks = 0;
  let wakes = 0;
  const invitations = new Invitations({
    manager: { networks: async () => [NETWORK], joinToken: async (network) => `token-of-${network}` },
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
