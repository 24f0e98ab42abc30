import test from 'ava';
import type { Health } from '../../../../agent/updater/health.ts';
import {
  beginWatching,
  CRASH_WINDOW_MS,
  DEADLINE_MS,
  judge,
  LIMIT_MS,
  LOOKS_APART_MS_MAX,
  WELL_MS,
  type Look,
} from '../../../../agent/updater/watch.ts';

const WATCHED = { version: '0.2.0', problems: ['ssh: the port is taken', 'disk: 99 MiB are free'] };
const WELL: Health = {
  pid: 7,
  version: '0.2.0',
  started_at: 1,
  connected_since: 5,
  services_ok: true,
  problems: [],
  last_answer_at: 6,
};

/** What is seen each second: of the second, what differs from an agent that is well. */
type Seen = (
  second: number,
) => Partial<Health> & { readonly reaches?: boolean; readonly silent?: boolean; readonly starts?: number };

/** The second of the verdict, and the verdict. Not looking: it stands still, as its machine or its container does. */
function watched(seen: Seen, isLooking: (second: number) => boolean = () => true): readonly [number, string] {
  let watching = beginWatching(0);
  let writtenMs: number | null = null;
  for (let second = 1; second <= 4_000; second += 1) {
    if (!isLooking(second)) continue;
    const { reaches = null, silent = false, starts = 1, ...health } = seen(second);
    if (!silent) writtenMs = second * 1_000;
    const look: Look = {
      nowMs: second * 1_000,
      health: writtenMs === null ? null : { ...WELL, ...health },
      writtenMs,
      starts,
      isReachable: reaches,
    };
    const judged = judge(watching, look, WATCHED);
    ({ watching } = judged);
    if (judged.verdict.verdict !== 'wait')
      return [second, judged.verdict.verdict === 'bad' ? judged.verdict.reason : 'good'];
  }
  return [0, 'no verdict'];
}

const SECONDS = {
  well: WELL_MS / 1_000,
  deadline: DEADLINE_MS / 1_000,
  limit: LIMIT_MS / 1_000,
  looksApart: LOOKS_APART_MS_MAX / 1_000,
};

test('a version that is well for a minute is good', (t) => {
  t.deepEqual(
    watched(() => ({})),
    [SECONDS.well + 1, 'good'],
  );
});

test('the minute begins anew with each other connection, and with each break', (t) => {
  t.deepEqual(
    watched((s) => ({ connected_since: s < 40 ? 5 : 45 })),
    [40 + SECONDS.well, 'good'],
  );
  t.deepEqual(
    watched((s) => ({ connected_since: s === 30 ? null : 5 })),
    [31 + SECONDS.well, 'good'],
  );
});

test('what was wrong with services before is not the new version', (t) => {
  t.deepEqual(
    watched(() => ({ services_ok: false, problems: ['ssh: the port is taken'] })),
    [SECONDS.well + 1, 'good'],
  );
  t.deepEqual(
    watched((second) => ({ services_ok: false, problems: [`disk: ${second % 90} MiB are free`] })),
    [SECONDS.well + 1, 'good'],
    'figures change by themselves',
  );
  t.deepEqual(
    watched(() => ({ services_ok: false, problems: ['ssh: the port is taken', 'journal: it is damaged'] })),
    [SECONDS.deadline, 'it was not well within 300 s: a service of the agent has a problem: journal: it is damaged'],
  );
});

test('one that does not connect is bad after five minutes where an admin can be reached', (t) => {
  t.deepEqual(
    watched(() => ({ connected_since: null, reaches: true })),
    [SECONDS.deadline, 'it was not well within 300 s: the agent is not connected to an admin'],
  );
});

test('where nobody reaches an admin the clock stands, up to half an hour', (t) => {
  t.deepEqual(
    watched(() => ({ connected_since: null, reaches: false })),
    [
      SECONDS.limit,
      'it was not well within 1800 s, in which this machine reached no admin either: the agent is not connected to an admin',
    ],
  );
  t.deepEqual(
    watched((s) => (s < 1_000 ? { connected_since: null, reaches: false } : {})),
    [1_000 + SECONDS.well, 'good'],
  );
});

test('an agent that says nothing is at fault, whoever is reached', (t) => {
  t.deepEqual(
    watched(() => ({ silent: true, reaches: false })),
    [SECONDS.deadline, 'it was not well within 300 s: the agent did not say how it is (health.json)'],
  );
  t.deepEqual(
    watched((s) => ({ silent: s > 10, reaches: false })),
    [
      // what it said last counts for 20 s
      SECONDS.deadline,
      'it was not well within 300 s: the agent stopped saying how it is (health.json), for 20 s and more',
    ],
  );
});

test('another version that runs is not the one that is watched', (t) => {
  t.deepEqual(
    watched(() => ({ version: '0.1.0' })),
    [SECONDS.deadline, 'it was not well within 300 s: the agent that runs is 0.1.0'],
  );
});

test('three starts within half a minute are a crash loop, by the launcher or by the agent itself', (t) => {
  const crashes = `so it crashes`;
  const [second, reason] = watched((s) => ({ starts: Math.ceil(s / 10), silent: true }));
  t.deepEqual([second, reason.endsWith(crashes)], [21, true]);
  const [seen, told] = watched((s) => ({ pid: Math.ceil(s / 5) }));
  t.deepEqual([seen, told.endsWith(crashes)], [11, true]);
  // two in any half minute are none
  const slow = (s: number) => ({ pid: Math.min(4, Math.ceil(s / ((CRASH_WINDOW_MS + 1_000) / 2_000))) });
  t.is(watched(slow)[1], 'good');
});

/** A machine that stands still from the one second to the other, between two looks. */
const stoodStill = (from: number, to: number) => (second: number) => second <= from || second > to;

test('time in which it stood still itself is no time in which a version is well, or is not', (t) => {
  const to = 20 + 2 * SECONDS.deadline;
  t.deepEqual(
    watched(() => ({}), stoodStill(20, to)),
    [to + SECONDS.well + 1 - 20 - SECONDS.looksApart + 1, 'good'],
    'its agent has written by the first look',
  );
  t.deepEqual(
    watched((second) => ({ silent: second > to && second < to + 5 }), stoodStill(20, to)),
    [to + 5 + SECONDS.well, 'good'],
    'its agent writes later than it looks',
  );
  const long = 20 + 2 * SECONDS.limit;
  t.deepEqual(
    watched((second) => ({ connected_since: second > long ? 5 : null, reaches: false }), stoodStill(20, long)),
    [long + 1 + SECONDS.well, 'good'],
  );
});

test('one that looks late each time comes to a verdict all the same', (t) => {
  t.deepEqual(
    watched(
      () => ({ connected_since: null, reaches: true }),
      (second) => second % 60 === 0,
    ),
    [30 * 60, 'it was not well within 300 s: the agent is not connected to an admin'],
  );
});
