/** When the VPNs of clusters are read. */
import test from 'ava';
import type { ClusterMessage } from '../../../../actors/cluster/messages.ts';
import type { ClusterId } from '../../../../transport/protocol/ids.ts';
import { CLUSTERS_PER_READ_MAX, VpnWatcher, GATHER_MS } from '../../../../supervisors/vpn/watcher.ts';
import { id } from '../../../support/actors.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/log.ts';
import { column } from '../../../support/database/columns.ts';

function cluster(number: number): ClusterId {
  return id<ClusterId>('c', number);
}

function fixture(owned: Map<ClusterId, number>) {
  const clock = createFakeClock();
  const log = recordingLog();
  const reads: ClusterId[][] = [];
  const told: [ClusterId, ClusterMessage][] = [];
  const faults: Error[] = [];
  const time = { setBackMs: 0 };
  const watcher = new VpnWatcher({
    clock: { ...clock, nowMs: () => clock.nowMs() - time.setBackMs },
    log,
    held: {
      holds: (one) => owned.has(one),
      all: () => [...owned].map(([one, epoch]) => ({ cluster: one, epoch, sinceMs: 0 })),
    },
    rows: {
      async read(clusters) {
        reads.push([...clusters]);
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
        return clusters.map((one) => ({ cluster: one, members: [], gateway: null }));
      },
    },
    tell: (one, message) => told.push([one, message]),
  });
  /** Lets so much time pass, and the reads that it brings. */
  const pass = async (ms: number): Promise<void> => {
    clock.pass(ms);
    for (let turn = 0; turn < 8; turn += 1) await new Promise(setImmediate);
  };
  return { watcher, clock, log, reads, told, faults, time, pass };
}

test('what is owned is read when it starts, and told under its epoch', async (t) => {
  const { watcher, clock, told, pass } = fixture(new Map([[cluster(1), 4]]));

  watcher.start();
  await pass(GATHER_MS);

  t.deepEqual(told, [
    [
      cluster(1),
      {
        type: 'vpn-read',
        epoch: 4,
        number: clock.nowMs(),
        reading: { cluster: cluster(1), members: [], gateway: null },
      },
    ],
  ]);
});

test('changes that come together are one read, those of others are none', async (t) => {
  const { watcher, reads, pass } = fixture(
    new Map([
      [cluster(1), 1],
      [cluster(2), 1],
    ]),
  );
  watcher.start();
  await pass(GATHER_MS);
  reads.length = 0;

  for (const number of [1, 1, 2, 9, 1]) watcher.changed(cluster(number));
  await pass(GATHER_MS);

  t.deepEqual(reads, [[cluster(1), cluster(2)]]);
});

test('no two VPNs have a state of the same number, also those read in one moment and after the clock was set back', async (t) => {
  const { watcher, clock, told, time, pass } = fixture(
    new Map([
      [cluster(1), 1],
      [cluster(2), 1],
    ]),
  );
  const startMs = clock.nowMs();
  watcher.start();
  await pass(GATHER_MS);
  time.setBackMs = 3_600_000;
  watcher.changed(cluster(1));
  await pass(GATHER_MS);

  t.deepEqual(
    told.map(([, message]) => message.type === 'vpn-read' && message.number - startMs),
    [GATHER_MS, GATHER_MS + 1, GATHER_MS + 2],
  );
});

test('a cluster that became ours, or ours again, is read', async (t) => {
  const owned = new Map<ClusterId, number>();
  const { watcher, told, pass } = fixture(owned);
  watcher.start();
  await pass(1_000);
  owned.set(cluster(1), 1);
  await pass(1_100);
  owned.set(cluster(1), 2);
  await pass(1_100);

  t.deepEqual(
    told.map(([, message]) => message.type === 'vpn-read' && message.epoch),
    [1, 2],
  );
});

test('everything is read when a word may have been lost, and every minute', async (t) => {
  const { watcher, reads, pass } = fixture(new Map([[cluster(1), 1]]));
  watcher.start();
  await pass(GATHER_MS);
  reads.length = 0;

  watcher.changed(null);
  await pass(1_100);
  t.is(reads.length, 1);
  for (let second = 0; second < 62; second += 1) await pass(1_000);
  t.is(reads.length, 2);
});

test('a clock that is set back by hours delays nothing', async (t) => {
  const { watcher, reads, time, pass } = fixture(new Map([[cluster(1), 1]]));
  watcher.start();
  await pass(GATHER_MS);
  reads.length = 0;

  time.setBackMs = 36_000_000;
  for (let second = 0; second < 62; second += 1) await pass(1_000);

  t.is(reads.length, 1);
});

test("what was read while the cluster became another admin's is not told", async (t) => {
  const owned = new Map([[cluster(1), 1]]);
  const { watcher, told, reads, pass } = fixture(owned);
  watcher.start();
  const reading = pass(GATHER_MS);
  t.is(reads.length, 1);
  owned.clear();
  await reading;

  t.deepEqual(told, []);
});

test('many clusters are read some at a time, none is left out', async (t) => {
  const count = CLUSTERS_PER_READ_MAX * 2 + 5;
  const { watcher, reads, told, pass } = fixture(
    new Map(Array.from({ length: count }, (_none, index) => [cluster(index), 1])),
  );

  watcher.start();
  for (let turn = 0; turn < 4; turn += 1) await pass(GATHER_MS);

  t.deepEqual(column(reads, 'length'), [CLUSTERS_PER_READ_MAX, CLUSTERS_PER_READ_MAX, 5]);
  t.is(new Set(told.map(([one]) => one)).size, count);
});

test('a read that failed is tried again, and the log has it', async (t) => {
  const { watcher, told, faults, log, pass } = fixture(new Map([[cluster(1), 1]]));
  faults.push(new Error('away'));

  watcher.start();
  await pass(GATHER_MS);
  t.is(told.length, 0);
  await pass(1_000);

  t.is(told.length, 1);
  t.regex(JSON.stringify(log.lines), /could not be read/u);
});

test('one that is stopped reads nothing', async (t) => {
  const { watcher, reads, pass } = fixture(new Map([[cluster(1), 1]]));
  watcher.start();
  watcher.stop();

  await pass(5_000);
  watcher.changed(cluster(1));
  await pass(5_000);

  t.true(reads.length <= 1);
});
