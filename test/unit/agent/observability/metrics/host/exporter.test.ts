/** The exporter of the host as a whole: what it does with a machine that says too little, too much, or nonsense. */
import { readFileSync } from 'node:fs';
import test from 'ava';
import { createHostMetrics } from '../../../../../../agent/observability/metrics/host.ts';
import { createExporter, HOST_TEXT_BYTES_MAX } from '../../../../../../agent/observability/metrics/host/exporter.ts';
import {
  DEVICES_MAX,
  LABEL_CHARS_MAX,
  type Collector,
} from '../../../../../../agent/observability/metrics/host/collector.ts';
import { createCollectors } from '../../../../../../agent/observability/metrics/host/collectors.ts';
import { cpu } from '../../../../../../agent/observability/metrics/host/cpu.ts';
import { diskstats } from '../../../../../../agent/observability/metrics/host/diskstats.ts';
import { FILE_BYTES_MAX } from '../../../../../../agent/observability/metrics/host/files.ts';
import { loadavg } from '../../../../../../agent/observability/metrics/host/loadavg.ts';
import { meminfo } from '../../../../../../agent/observability/metrics/host/meminfo.ts';
import { netdev } from '../../../../../../agent/observability/metrics/host/netdev.ts';
import { osRelease } from '../../../../../../agent/observability/metrics/host/os-release.ts';
import { stat } from '../../../../../../agent/observability/metrics/host/stat.ts';
import { expositionProblem, hostOf, samplesIn, scrapeOf } from './host-tree.ts';
import { scaled } from '../../../../../support/busy.ts';

/** The most CPU time that a scrape of this machine may take, in ms. Source: docs/performance.md. */
const CPU_MS_MAX = 5;

/** Scrapes until one was cheap enough: neighbours who share the processors' caches make each dearer. */
const ROUNDS_MAX = 500;

test('a machine without any of its files has no metric, and says so of every collector but those that need no file', async (t) => {
  const lines = await scrapeOf(t, {});

  const names = createCollectors().map(({ name }) => name);
  const good = lines.filter((line) => line.startsWith('node_scrape_collector_success') && line.endsWith(' 1'));
  t.deepEqual(good, [
    'node_scrape_collector_success{collector="time"} 1',
    'node_scrape_collector_success{collector="edac"} 1',
  ]);
  t.is(lines.filter((line) => line.startsWith('node_scrape_collector_success')).length, names.length);
  t.deepEqual(
    lines.filter((line) => !line.startsWith('node_scrape_') && !line.startsWith('node_time_')),
    [],
  );
});

test('this machine serves what every Linux machine has, and nothing twice', async (t) => {
  const text = await createHostMetrics({ version: '1.2.3' })();

  t.is(expositionProblem(text), null);
  for (const name of [
    'node_load1',
    'node_cpu_seconds_total',
    'node_memory_MemTotal_bytes',
    'node_memory_MemAvailable_bytes',
    'node_boot_time_seconds',
    'node_uname_info',
    'node_filesystem_size_bytes',
    'node_disk_read_bytes_total',
    'node_network_receive_bytes_total',
    'node_time_seconds',
    'process_resident_memory_bytes',
  ]) {
    t.regex(text, new RegExp(`^# TYPE ${name} `, 'mu'), name);
  }
  t.regex(
    text,
    /^node_exporter_build_info\{branch="edge-agent",goarch="\w+",goos="linux",goversion="",revision="",version="1\.2\.3"\} 1$/mu,
  );
});

test(`a scrape of this machine takes less than ${CPU_MS_MAX} ms of CPU time`, async (t) => {
  const scrape = createExporter({ version: '1.2.3' });
  let leastMs = Infinity;
  for (let round = 0; round < ROUNDS_MAX && leastMs >= CPU_MS_MAX; round += 1) {
    const before = process.cpuUsage();
    await scrape();
    const { user, system } = process.cpuUsage(before);
    leastMs = Math.min(leastMs, (user + system) / 1_000);
  }

  t.true(leastMs < scaled(CPU_MS_MAX), `${leastMs} ms`);
});

test('a file that is not there, not readable or too large fails its collector and no other, and is never a zero', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      'proc/loadavg': '0.50 0.40 0.30 2/345 6789\n',
      'proc/stat/a-directory': '',
      'proc/diskstats': 'x'.repeat(FILE_BYTES_MAX + 1),
    },
    loadavg,
    meminfo,
    stat,
    diskstats,
  );

  t.deepEqual(lines, [
    'node_load1 0.5',
    'node_load5 0.4',
    'node_load15 0.3',
    'node_scrape_collector_success{collector="loadavg"} 1',
    'node_scrape_collector_success{collector="meminfo"} 0',
    'node_scrape_collector_success{collector="stat"} 0',
    'node_scrape_collector_success{collector="diskstats"} 0',
  ]);
});

test('a collector that fails half-way leaves nothing of itself behind', async (t) => {
  const broken: Collector = {
    name: 'broken',
    collect: (out) => {
      out.single('node_half', 'gauge', 'Half.', 1);
      throw new Error('the disk is gone');
    },
  };
  const late: Collector = {
    name: 'late',
    collect: async () => {
      await Promise.reject(new Error('no answer'));
    },
  };

  t.deepEqual(await scrapeOf(t, { 'proc/loadavg': '1 2 3 4/5 6\n' }, broken, late, loadavg), [
    'node_load1 1',
    'node_load5 2',
    'node_load15 3',
    'node_scrape_collector_success{collector="broken"} 0',
    'node_scrape_collector_success{collector="late"} 0',
    'node_scrape_collector_success{collector="loadavg"} 1',
  ]);
});

test('what is no number, or nothing at all, is left out', async (t) => {
  t.deepEqual(await scrapeOf(t, { 'proc/loadavg': 'high 0.40  \n' }, loadavg), [
    'node_load5 0.4',
    'node_scrape_collector_success{collector="loadavg"} 1',
  ]);
});

test('names with quotes, backslashes and bytes that are no text are escaped, and two that look alike are one', async (t) => {
  const line = (device: Uint8Array | string, first = 1): Buffer =>
    Buffer.concat([
      Buffer.from('  '),
      Buffer.from(device),
      Buffer.from(`: ${first} 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n`),
    ]);
  const lines = await scrapeOf(
    t,
    {
      'proc/net/dev': Buffer.concat([
        Buffer.from('Inter-|\n face |\n'),
        line('a"b\\c'),
        line(Buffer.from([0x78, 0xff])),
        line(Buffer.from([0x78, 0xfe]), 2),
        line('e:0'),
        line('n\0l'),
      ]),
    },
    netdev,
  );

  t.deepEqual(
    lines.filter((sample) => sample.startsWith('node_network_receive_bytes_total')),
    [
      String.raw`node_network_receive_bytes_total{device="a\"b\\c"} 1`,
      'node_network_receive_bytes_total{device="x\uFFFD"} 1',
      'node_network_receive_bytes_total{device="e:0"} 1',
      'node_network_receive_bytes_total{device="n\uFFFDl"} 1',
    ],
  );
  t.true(lines.includes('node_network_transmit_compressed_total{device="e:0"} 16'));
});

test('more devices than the limit are counted and not served', async (t) => {
  const devices = Array.from(
    { length: DEVICES_MAX + 3 },
    (_, index) => `  veth${index}: ${Array.from({ length: 16 }, () => '1').join(' ')}\n`,
  );
  const cpus = Array.from({ length: DEVICES_MAX + 2 }, (_, index) => `cpu${index} 1 2 3 4 5 6 7 8 9 10\n`);
  const lines = await scrapeOf(
    t,
    { 'proc/net/dev': `a\nb\n${devices.join('')}`, 'proc/stat': `cpu  1 2\n${cpus.join('')}` },
    netdev,
    cpu,
    loadavg,
  );

  t.is(lines.filter((line) => line.startsWith('node_network_receive_bytes_total')).length, DEVICES_MAX);
  t.is(lines.filter((line) => line.startsWith('node_cpu_seconds_total')).length, DEVICES_MAX * 8);
  t.deepEqual(
    lines.filter((line) => line.startsWith('edge_agent_host_devices_left_out')),
    ['edge_agent_host_devices_left_out{collector="netdev"} 3', 'edge_agent_host_devices_left_out{collector="cpu"} 2'],
  );
});

test('a value of a label is cut at its limit', async (t) => {
  const lines = await scrapeOf(t, { 'etc/os-release': `NAME="${'n'.repeat(LABEL_CHARS_MAX + 1)}"\nID=x\n` }, osRelease);

  t.regex(lines[0] ?? '', new RegExp(`,name="n{${LABEL_CHARS_MAX}}",`, 'u'));
});

test('what would make the text longer than an admin takes is left out whole', async (t) => {
  const large = (name: string): Collector => ({
    name,
    collect: (out) =>
      void out.family(`node_${name}`, 'gauge', 'x'.repeat(HOST_TEXT_BYTES_MAX / 2)).sample(`node_${name}`, 1),
  });
  const text = await createExporter({
    version: '1.2.3',
    roots: await hostOf(t, { 'proc/loadavg': '1 2 3 4/5 6\n' }),
    collectors: [large('one'), large('two'), loadavg],
  })();

  t.true(Buffer.byteLength(text) < HOST_TEXT_BYTES_MAX);
  t.deepEqual(samplesIn(text), [
    'node_one 1',
    'node_load1 1',
    'node_load5 2',
    'node_load15 3',
    'node_scrape_collector_success{collector="one"} 1',
    'node_scrape_collector_success{collector="two"} 0',
    'node_scrape_collector_success{collector="loadavg"} 1',
  ]);
});

test('every collector is in the documentation', (t) => {
  const documentation = readFileSync(new URL('../../../../../../docs/metrics.md', import.meta.url), 'utf8');

  t.deepEqual(
    createCollectors()
      .map(({ name }) => name)
      .filter((name) => !documentation.includes(`\n| \`${name}\` |`)),
    [],
  );
});
