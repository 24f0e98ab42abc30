/** What an agent remembers of its machine: a ring of an hour, and the few files that it is read from. */
import test from 'ava';
import { History, HISTORY_KEPT_MAX } from '../../../../../agent/observability/history/history.ts';
import { startMeasuring } from '../../../../../agent/observability/history/measuring.ts';
import { readNow, type Reading } from '../../../../../agent/observability/history/reading.ts';
import { HostFiles } from '../../../../../agent/observability/metrics/host/files.ts';
import {
  HISTORY_BYTES_MAX,
  HISTORY_INTERVAL_MS,
  HISTORY_MS_MAX,
  MetricsHistory,
} from '../../../../../transport/protocol/metrics-history.ts';
import { until } from '../../../../support/until.ts';
import { hostOf } from '../metrics/host/host-tree.ts';

const SPACE = { total: 1_000, available: 250 };

/** A machine that is half busy, receives 1,000 bytes a second and sends 10. */
const readingAt = (atMs: number, given: Partial<Reading> = {}): Reading => ({
  atMs,
  allTicks: atMs / 5,
  busyTicks: atMs / 10,
  cores: 2,
  load: 0.5,
  memory: SPACE,
  disk: SPACE,
  receivedBytes: atMs,
  sentBytes: atMs / 100,
  agentBytes: 80_000_000,
  ...given,
});

const NOTHING = {
  allTicks: null,
  busyTicks: null,
  cores: null,
  load: null,
  memory: null,
  disk: null,
  receivedBytes: null,
  sentBytes: null,
  agentBytes: null,
};

test('an hour is kept, the oldest goes, and all of it fits what an admin takes', (t) => {
  const history = new History();
  t.deepEqual(history.told(0).ages_ms, []);
  const lastMs = 3 * HISTORY_KEPT_MAX * HISTORY_INTERVAL_MS;
  for (let atMs = HISTORY_INTERVAL_MS; atMs <= lastMs; atMs += HISTORY_INTERVAL_MS)
    history.add(readingAt(atMs, { receivedBytes: atMs * 123_456.789, sentBytes: atMs * 98_765.4321 }));

  const told = history.told(lastMs + 1_234.5);

  t.is(told.ages_ms.length, HISTORY_KEPT_MAX);
  t.deepEqual([told.ages_ms[0], told.ages_ms.at(-1)], [HISTORY_MS_MAX - HISTORY_INTERVAL_MS + 1_235, 1_235]);
  t.deepEqual(MetricsHistory.parse(JSON.parse(JSON.stringify(told))), told);
  t.true(Buffer.byteLength(JSON.stringify(told)) < HISTORY_BYTES_MAX / 2);
  t.is(history.told(lastMs + HISTORY_MS_MAX - HISTORY_INTERVAL_MS / 2).ages_ms.length, 1, 'the rest is too old');
});

test('what rises is told from the second reading on; what is not told is null and never zero', (t) => {
  const history = new History();
  history.add(readingAt(10_000));
  history.add(readingAt(25_000));
  history.add({ atMs: 40_000, ...NOTHING });
  history.add(readingAt(55_000, { allTicks: 1, busyTicks: 1, receivedBytes: 1, memory: { total: 0, available: 0 } }));

  t.deepEqual(history.told(60_000), {
    interval_ms: HISTORY_INTERVAL_MS,
    ages_ms: [50_000, 35_000, 20_000, 5_000],
    cpu_percent: [null, 50, null, null],
    load_percent: [25, 25, null, 25],
    memory_percent: [75, 75, null, null],
    disk_percent: [75, 75, null, 75],
    received_bytes_per_second: [null, 1_000, null, null],
    sent_bytes_per_second: [null, 10, null, null],
    agent_bytes: [80_000_000, 80_000_000, null, 80_000_000],
  });
});

test('counters that began anew tell nothing, and a clock that was set back begins everything anew', (t) => {
  const history = new History();
  history.add(readingAt(100_000));
  history.add(readingAt(115_000, { allTicks: 5, busyTicks: 5, receivedBytes: 5 }));
  t.like(history.told(115_000), { cpu_percent: [null, null], received_bytes_per_second: [null, null] });

  history.add(readingAt(20_000));
  history.add(readingAt(35_000));

  t.like(history.told(35_000), { ages_ms: [15_000, 0], cpu_percent: [null, 50] });
});

test('readings are what the files of the kernel say, and null where they say nothing', async (t) => {
  const read = async (files: Readonly<Record<string, string>>): Promise<Reading> => ({
    ...readNow(new HostFiles(await hostOf(t, files)), 1, SPACE),
    agentBytes: null,
  });

  t.deepEqual(
    await read({
      'proc/stat': 'cpu  10 1 5 100 20 2 3 4 7 0\ncpu0 5 1 5 50 10 1 1 2 7 0\ncpu1 5 0 0 50 10 1 2 2 0 0\nintr 1 2 3\n',
      'proc/loadavg': '0.42 0.50 0.60 1/200 4242\n',
      'proc/meminfo': 'MemTotal:        8000 kB\nMemFree:         1000 kB\nMemAvailable:    2000 kB\n',
      'proc/net/dev': `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0
  eth0: 1000 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0
eth0:1:  500 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0
`,
    }),
    {
      atMs: 1,
      allTicks: 145,
      busyTicks: 25,
      cores: 2,
      load: 0.42,
      memory: { total: 8_000, available: 2_000 },
      disk: SPACE,
      receivedBytes: 1_500,
      sentBytes: 25,
      agentBytes: null,
    },
  );
  t.deepEqual(
    await read({ 'proc/stat': 'cpu0 1\n', 'proc/loadavg': 'none 1 1\n', 'proc/meminfo': 'MemTotal: many kB\n' }),
    { ...NOTHING, atMs: 1, cores: 1, disk: SPACE },
  );
});

test('a machine is measured from the beginning on', async (t) => {
  const measuring = startMeasuring();
  t.teardown(() => measuring.close());

  const told = await until('the first point', () => {
    const history = measuring.told();
    return history.ages_ms.length > 0 && history;
  });

  t.true(MetricsHistory.safeParse(told).success);
  t.true((told.memory_percent[0] ?? 0) > 0 && (told.agent_bytes[0] ?? 0) > 0);
  t.is(told.cpu_percent[0], null);
});
