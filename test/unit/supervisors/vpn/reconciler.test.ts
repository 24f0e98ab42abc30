/** When is reconciled, by whom, and what is said while it cannot be. */
import test, { type ExecutionContext } from 'ava';
import type { VpnRows } from '../../../../actors/vpn/rows.ts';
import { VpnUnavailable, type VpnManager, type VpnSurvey } from '../../../../actors/vpn/vpn.ts';
import { TASK_LEASE_MS } from '../../../../persistence/ownership/task-leases.ts';
import { RENEW_MS } from '../../../../supervisors/tasks/held-task.ts';
import { BACK_OFF_MS, BACK_OFF_MS_MAX, COMPARE_MS, Reconciler } from '../../../../supervisors/vpn/reconciler.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';

const NOTHING: VpnSurvey = { networks: [], hosts: [], members: [], names: [] };
const NETWORK = { name: 'cluster-a', ipv4Range: '10.0.0.0/24', ipv6Range: 'fd00::/64' };

/** A manager and rows in memory: one VPN that should be. */
function reconcilerFixture(t: ExecutionContext, more: Partial<VpnManager> = {}, rows: Partial<VpnRows> = {}) {
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
    leaseMs: TASK_LEASE_MS,
    clock,
    monotonicMs: () => clock.nowMs(),
    leaseClockMs: () => clock.nowMs(),
    takesTasks: () => true,
    random: () => 1,
    log,
  });
  t.teardown(() => reconciler.stop());
  /** Lets time pass whenever the reconciler waits for nothing else, and its lease be renewed. */
  const rest = async (ms: number): Promise<void> => {
    for (let leftMs = ms; leftMs > 0; leftMs -= RENEW_MS) {
      await until('a wait', () => clock.waiting() > 0);
      clock.pass(Math.min(leftMs, RENEW_MS));
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
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
  const { calls, reconciler, rest, drop } = reconcilerFixture(t);

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
  const { log, reconciler, rest } = reconcilerFixture(t, {
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

test('a process that stood still during a round waits no longer for the next than after failures', async (t) => {
  let rounds = 0;
  const { clock, reconciler, rest } = reconcilerFixture(
    t,
    {},
    {
      moves: async () => {
        rounds += 1;
        if (rounds === 2) clock.pass(600_000);
        return [];
      },
      lease: { claim: async () => 1, renew: async () => true, release: async () => {} },
    },
  );
  reconciler.start();
  await until('the round in which it stands still', async () => {
    await rest(1_000);
    return rounds === 2;
  });

  const thawedAtMs = clock.nowMs();
  reconciler.wake();
  await until('the next round', async () => {
    await rest(BACK_OFF_MS_MAX / 4);
    return rounds === 3;
  });

  t.true(clock.nowMs() - thawedAtMs < 2 * BACK_OFF_MS_MAX);
});

test('whoever loses the right to reconcile changes nothing more', async (t) => {
  const { calls, reconciler, clock, rest } = reconcilerFixture(
    t,
    {},
    {
      wanted: async () => {
        clock.pass(TASK_LEASE_MS); // this admin stood still for that long
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
  await rest(RENEW_MS);
  await rest(RENEW_MS);

  t.deepEqual(calls, ['survey']);
});

test('what was half done elsewhere is compared at once by whoever gains the right to reconcile', async (t) => {
  let isTaken = true;
  const { calls, reconciler, rest } = reconcilerFixture(
    t,
    {},
    { lease: { claim: async () => (isTaken ? null : 2), renew: async () => true, release: async () => {} } },
  );

  reconciler.start();
  await rest(RENEW_MS * 3);
  t.deepEqual(calls, []);
  isTaken = false;
  await rest(RENEW_MS);

  await until('the repair', () => calls.includes('made'));
  t.deepEqual(calls.slice(0, 2), ['survey', 'made']);
});
