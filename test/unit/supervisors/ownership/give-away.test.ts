/** An admin gives its clusters to another one, by its own clock: how long that may take, and what ends it. */
import test from 'ava';
import { DatabaseUnavailable, type Clock } from '../../../../actors/ports.ts';
import { giveAllAway, GIVE_ALL_MS_MAX } from '../../../../supervisors/ownership/give-away.ts';
import { HANDED_OVER_AT_ONCE_MAX, HandOvers } from '../../../../supervisors/ownership/hand-over.ts';
import { createHeldLeases } from '../../../../supervisors/ownership/held.ts';
import type { HandOverPort, LeasePort, SurveyedAdmin } from '../../../../supervisors/ownership/lease-port.ts';
import { Rebalancing, type RebalancingPorts } from '../../../../supervisors/ownership/rebalancing.ts';
import type { ClusterId } from '../../../../transport/protocol/ids.ts';
import { Departures } from '../../../../transport/sessions/departures.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { silentLog } from '../../../support/log.ts';

const LEASE_MS = 3_000;

/** When a frozen database is given up, in ms. */
const STATEMENT_MS = 2_800;

const SELF = {
  id: 'a',
  name: 'a',
  capacity: 100_000,
  clusters: 0,
  nodes: 0,
  isHeard: true,
  peerUrl: 'http://a',
  linkVersion: 9,
};
const OTHER = { ...SELF, id: 'b', name: 'b', peerUrl: 'http://b', drainingSinceMs: null };

/** It died while nobody could see it. */
const GONE = { ...OTHER, id: 'c', name: 'c', peerUrl: 'http://c', isHeard: false };

/** Each wait takes its time by this clock, and none for the test. */
function createHastyClock(): Clock {
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    after(ms, run) {
      const turn = setImmediate(() => {
        nowMs += ms;
        run();
      });
      return () => clearImmediate(turn);
    },
  };
}

/** What a hand-over of the database comes to, and after how long. */
interface Script {
  readonly clusters: number;
  readonly nodesEach: number;
  readonly gives?: (wait: (ms: number) => Promise<void>) => Promise<void>;
  readonly clock?: Clock;
  readonly admins?: readonly SurveyedAdmin[];
}

/**
 * An admin that owns so many clusters, with an agent for each node, beside one that has room for all. `tried`: clusters
 * of each transaction; `waitedMs`: how long each agent waited until it was told.
 */
function fixture({
  clusters,
  nodesEach,
  gives = () => Promise.resolve(),
  clock = createHastyClock(),
  admins = [OTHER],
}: Script) {
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const leaseClockMs = (): number => clock.nowMs();
  const held = createHeldLeases(LEASE_MS, leaseClockMs);
  const all = Array.from({ length: clusters }, (_, at) => ({
    cluster: `c${at}` as ClusterId,
    name: `c${at}`,
    nodes: nodesEach,
  }));
  for (const { cluster } of all) held.hold(cluster, 1, 0);
  const tried: number[] = [];
  const waitedMs: number[] = [];
  const departures = new Departures<{ readonly sinceMs: number }>({
    clock,
    random: Math.random,
    tell: ({ sinceMs }) => void waitedMs.push(clock.nowMs() - sinceMs),
  });
  const sessions = {
    depart: (gone: ReadonlySet<ClusterId>, url: string) =>
      departures.add(
        Array.from({ length: gone.size * nodesEach }, () => ({ sinceMs: clock.nowMs() })),
        url,
      ),
    departing: () => departures.size,
  };
  const handOvers: HandOverPort = {
    async give(_from, owned, to) {
      tried.push(owned.length);
      await gives(wait);
      if (to === GONE.id) return { given: [], url: '', staysBecause: 'gone' };
      return { given: owned, url: 'http://b', staysBecause: null };
    },
    unheld: () => Promise.resolve([]),
  };
  const away = () => Promise.reject(new DatabaseUnavailable('away'));
  const giving = new HandOvers({
    adminId: 'a',
    handOvers,
    leases: { renew: away },
    leaseMs: LEASE_MS,
    held,
    directory: { cells: () => [] },
    committer: { caughtUp: () => Promise.resolve() },
    sessions,
    left: (cluster: ClusterId) => held.lose(cluster),
    clock,
    log: silentLog,
    leaseClockMs,
  });
  const ports = {
    adminId: 'a',
    leases: {
      stopping: () => Promise.resolve(),
      mine: () => Promise.resolve(all),
      survey: () => Promise.resolve({ free: [], admins, databaseMs: clock.nowMs(), nextFreeMs: null }),
    } as Partial<LeasePort> as LeasePort,
    held,
    handOvers: giving,
    sessions,
    times: { unseenMs: () => 0 },
    isTemporary: () => false,
    settledMs: 0,
    log: silentLog,
    leaseClockMs,
  } satisfies RebalancingPorts;
  return { clock, ports, held, tried, waitedMs };
}

test('an admin that stops gives all of its clusters away', async (t) => {
  const { ports, held } = fixture({ clusters: 200, nodesEach: 10 });

  t.true(await giveAllAway(ports));

  t.deepEqual(held.all(), []);
});

test('an admin that stops gives nothing to one that it counts as alive only as it did not see its silence', async (t) => {
  const { ports, held, tried } = fixture({ clusters: 10, nodesEach: 10, admins: [OTHER, GONE] });

  t.true(await giveAllAway(ports));

  t.deepEqual(held.all(), []);
  t.deepEqual(tried, [10]);
});

for (const lostMs of [0, 3_000, 7_000])
  test(`an admin that stops, whose database is lost ${lostMs} ms later, lets the rest go`, async (t) => {
    const clock = createHastyClock();
    let given = 0;
    const { ports, tried } = fixture({
      clusters: 100 * HANDED_OVER_AT_ONCE_MAX,
      nodesEach: 10,
      clock,
      gives: async (wait) => {
        if (clock.nowMs() >= lostMs)
          return wait(STATEMENT_MS).then(() => Promise.reject(new DatabaseUnavailable('away')));
        await wait(500);
        given += 1;
      },
    });

    t.false(await giveAllAway(ports));

    t.is(tried.length, given + 1);
  });

test('an admin that stops begins no transaction once its time to give is up', async (t) => {
  const { clock, ports, tried } = fixture({
    clusters: 100 * HANDED_OVER_AT_ONCE_MAX,
    nodesEach: 10,
    gives: (wait) => wait(1_000),
  });

  await giveAllAway(ports);

  t.true(tried.length < 10, `${tried.length} transactions`);
  t.true(clock.nowMs() < GIVE_ALL_MS_MAX + 2_000, `${clock.nowMs()} ms`);
});

test('a drained admin that is told to stop is through with its drain after the transaction that is under way', async (t) => {
  const { promise: isUnderWay, resolve: underWay } = Promise.withResolvers<void>();
  const { promise: over, resolve: goOn } = Promise.withResolvers<void>();
  const { ports, tried } = fixture({
    clusters: 10 * HANDED_OVER_AT_ONCE_MAX,
    nodesEach: 1,
    gives: () => {
      underWay();
      return over;
    },
  });
  const rebalancing = new Rebalancing(ports);

  rebalancing.round([{ ...SELF, drainingSinceMs: 1 }, OTHER], 0);
  await isUnderWay;
  const stopped = rebalancing.stop();
  goOn();
  await stopped;

  t.is(tried.length, 1);
});

for (const [clusters, nodesEach] of [
  [100, 100],
  [1_000, 10],
  [10, 1_000],
] as const)
  test(`agents of a drained admin with ${clusters} clusters of ${nodesEach} wait only seconds to learn their new admin`, async (t) => {
    const clock = createFakeClock(0);
    const { ports, held, waitedMs } = fixture({ clusters, nodesEach, clock });
    const rebalancing = new Rebalancing(ports);

    let endMs = 0;
    while (held.all().length > 0) {
      rebalancing.round([{ ...SELF, drainingSinceMs: 1 }, OTHER], 0);
      await new Promise((resolve) => setImmediate(resolve)); // nothing of the round waits for longer
      clock.pass(1_000);
      endMs = clock.nowMs();
    }
    clock.pass(8_000);

    t.is(waitedMs.length, clusters * nodesEach);
    t.true(Math.max(...waitedMs) < 8_000, `${Math.max(...waitedMs)} ms`);
    t.true(endMs < 75_000, `${endMs} ms`);
  });
