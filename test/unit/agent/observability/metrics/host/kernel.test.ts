/** What the kernel counts of processors, memory and clocks, as its documentation and real machines show it. */
import test from 'ava';
import { conntrack } from '../../../../../../agent/observability/metrics/host/conntrack.ts';
import { cpu } from '../../../../../../agent/observability/metrics/host/cpu.ts';
import { cpufreq } from '../../../../../../agent/observability/metrics/host/cpufreq.ts';
import { edac } from '../../../../../../agent/observability/metrics/host/edac.ts';
import { meminfo } from '../../../../../../agent/observability/metrics/host/meminfo.ts';
import { pressure } from '../../../../../../agent/observability/metrics/host/pressure.ts';
import { schedstat } from '../../../../../../agent/observability/metrics/host/schedstat.ts';
import { softnet } from '../../../../../../agent/observability/metrics/host/softnet.ts';
import { time } from '../../../../../../agent/observability/metrics/host/time.ts';
import { udpQueues } from '../../../../../../agent/observability/metrics/host/udp-queues.ts';
import { scrapeOf, type Tree, within } from './host-tree.ts';

test('a processor that is too hot says how often it was slowed, and how fast it is', async (t) => {
  const one = (name: string, core: string): Tree => ({
    ...within(`sys/devices/system/cpu/${name}/thermal_throttle`, {
      core_throttle_count: '5',
      package_throttle_count: '30',
    }),
    ...within(`sys/devices/system/cpu/${name}/topology`, { core_id: core, physical_package_id: '0' }),
    ...within(`sys/devices/system/cpu/${name}/cpufreq`, {
      scaling_driver: 'intel_pstate',
      scaling_cur_freq: '1699981',
      scaling_min_freq: '400000',
      scaling_max_freq: '4600000',
      cpuinfo_max_freq: '4600000',
    }),
  });
  const lines = await scrapeOf(
    t,
    {
      'proc/stat': 'cpu  1 2\ncpu0 100 0 50 1000 0 0 0 0 10 0\ncpu1 0 0 0 0\nintr 5\n',
      ...one('cpu0', '0'),
      ...one('cpu1', '0'),
      'sys/devices/system/cpu/online': '0-1',
    },
    cpu,
    cpufreq,
  );

  t.deepEqual(
    lines.filter((line) => /throttles|hertz|guest|"idle"/u.test(line)),
    [
      'node_cpu_seconds_total{cpu="0",mode="idle"} 10',
      'node_cpu_seconds_total{cpu="1",mode="idle"} 0',
      'node_cpu_guest_seconds_total{cpu="0",mode="user"} 0.1',
      'node_cpu_guest_seconds_total{cpu="0",mode="nice"} 0',
      'node_cpu_core_throttles_total{core="0",package="0"} 5',
      'node_cpu_package_throttles_total{package="0"} 30',
      'node_cpu_frequency_max_hertz{cpu="0"} 4600000000',
      'node_cpu_frequency_max_hertz{cpu="1"} 4600000000',
      'node_cpu_scaling_frequency_hertz{cpu="0"} 1699981000',
      'node_cpu_scaling_frequency_hertz{cpu="1"} 1699981000',
      'node_cpu_scaling_frequency_min_hertz{cpu="0"} 400000000',
      'node_cpu_scaling_frequency_min_hertz{cpu="1"} 400000000',
      'node_cpu_scaling_frequency_max_hertz{cpu="0"} 4600000000',
      'node_cpu_scaling_frequency_max_hertz{cpu="1"} 4600000000',
    ],
  );
});

test('errors of memory are counted by controller and row', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      ...within('sys/devices/system/edac/mc/mc0', {
        ce_count: '1',
        ue_count: '5',
        ce_noinfo_count: '2',
        ue_noinfo_count: '6',
      }),
      ...within('sys/devices/system/edac/mc/mc0/csrow0', { ce_count: '3', ue_count: '4' }),
    },
    edac,
  );

  t.deepEqual(lines, [
    'node_edac_correctable_errors_total{controller="0"} 1',
    'node_edac_uncorrectable_errors_total{controller="0"} 5',
    'node_edac_csrow_correctable_errors_total{controller="0",csrow="unknown"} 2',
    'node_edac_csrow_correctable_errors_total{controller="0",csrow="0"} 3',
    'node_edac_csrow_uncorrectable_errors_total{controller="0",csrow="unknown"} 6',
    'node_edac_csrow_uncorrectable_errors_total{controller="0",csrow="0"} 4',
    'node_scrape_collector_success{collector="edac"} 1',
  ]);
});

test('counters in hexadecimal are read, and summed where a family has one for all processors', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      'proc/sys/net/netfilter/nf_conntrack_count': '7\n',
      'proc/sys/net/netfilter/nf_conntrack_max': '262144\n',
      'proc/net/stat/nf_conntrack':
        'entries  clashres found new invalid drop\n00000007  00000000 0000000a 00000000 00000001 00000000\n00000007  00000000 00000010 00000000 00000002 00000000\n',
      'proc/net/softnet_stat':
        '0000000f 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000003 00000004\n',
      'proc/net/udp':
        '   sl  local_address rem_address   st tx_queue rx_queue tr\n    0: 0100007F:0035 00000000:0000 07 00000010:00000100 00:00000000 00000000\n    1: 0100007F:0036 00000000:0000 07 00000001:00000000 00:00000000 00000000\n',
    },
    conntrack,
    softnet,
    udpQueues,
  );

  t.deepEqual(lines, [
    'node_nf_conntrack_entries 7',
    'node_nf_conntrack_entries_limit 262144',
    'node_nf_conntrack_stat_found 26',
    'node_nf_conntrack_stat_invalid 3',
    'node_nf_conntrack_stat_drop 0',
    'node_softnet_processed_total{cpu="0"} 15',
    'node_softnet_dropped_total{cpu="0"} 1',
    'node_softnet_times_squeezed_total{cpu="0"} 2',
    'node_softnet_cpu_collision_total{cpu="0"} 3',
    'node_softnet_received_rps_total{cpu="0"} 4',
    'node_udp_queues{ip="v4",queue="tx"} 17',
    'node_udp_queues{ip="v4",queue="rx"} 256',
    'node_scrape_collector_success{collector="conntrack"} 1',
    'node_scrape_collector_success{collector="softnet"} 1',
    'node_scrape_collector_success{collector="udp_queues"} 1',
  ]);
});

test('pressure is in seconds, with interrupts where the kernel has them', async (t) => {
  const of = (some: number, full: number): string =>
    `some avg10=0.00 avg60=0.00 avg300=0.00 total=${some}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=${full}\n`;
  const lines = await scrapeOf(
    t,
    {
      'proc/pressure/cpu': of(1_500_000, 0),
      'proc/pressure/io': of(2_000_000, 1_000_000),
      'proc/pressure/memory': of(30, 20),
      'proc/pressure/irq': 'full avg10=0.00 avg60=0.00 avg300=0.00 total=5000000\n',
    },
    pressure,
  );

  t.deepEqual(lines, [
    'node_pressure_cpu_waiting_seconds_total 1.5',
    'node_pressure_io_waiting_seconds_total 2',
    'node_pressure_io_stalled_seconds_total 1',
    'node_pressure_memory_waiting_seconds_total 0.00003',
    'node_pressure_memory_stalled_seconds_total 0.00002',
    'node_pressure_irq_stalled_seconds_total 5',
    'node_scrape_collector_success{collector="pressure"} 1',
  ]);
});

test('schedules of processors are in seconds', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      'proc/schedstat':
        'version 15\ntimestamp 4297299139\ncpu0 0 0 0 0 0 0 2045936778163 343796328169 4767485306\ndomain0 f 0 0\n',
    },
    schedstat,
  );

  t.deepEqual(lines, [
    'node_schedstat_running_seconds_total{cpu="0"} 2045.936778163',
    'node_schedstat_waiting_seconds_total{cpu="0"} 343.796328169',
    'node_schedstat_timeslices_total{cpu="0"} 4767485306',
    'node_scrape_collector_success{collector="schedstat"} 1',
  ]);
});

test('memory is in bytes, but for what counts pages, and no name is served twice', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      'proc/meminfo':
        'MemTotal:       24684092 kB\nActive(anon):       1796 kB\nHugePages_Total:       3\nMemTotal:       1 kB\nEvil"}: 5 kB\n',
    },
    meminfo,
  );

  t.deepEqual(lines, [
    'node_memory_MemTotal_bytes 25276510208',
    'node_memory_Active_anon_bytes 1839104',
    'node_memory_HugePages_Total 3',
    'node_scrape_collector_success{collector="meminfo"} 1',
  ]);
});

test('the zone of the clock has the name that holds now', async (t) => {
  const offset = 0 - new Date().getTimezoneOffset() * 60;
  const hours = (seconds: number): string => String(0 - seconds / 3_600);
  const zone = async (rule: string): Promise<string | undefined> =>
    (
      await scrapeOf(
        t,
        {
          'etc/localtime': `TZif2...\n${rule}\n`,
          ...(process.env['TZ'] && { [`usr/share/zoneinfo/${process.env['TZ']}`]: `\n${rule}\n` }),
          'sys/devices/system/clocksource/clocksource0/available_clocksource': 'tsc hpet \n',
          'sys/devices/system/clocksource/clocksource0/current_clocksource': 'tsc\n',
        },
        time,
      )
    ).find((line) => line.startsWith('node_time_zone_offset_seconds'));

  t.is(
    await zone(`XST${hours(offset)}XDT,M3.5.0,M10.5.0/3`),
    `node_time_zone_offset_seconds{time_zone="XST"} ${offset}`,
  );
  t.is(
    await zone(`XST${hours(offset - 3_600)}XDT,M3.5.0,M10.5.0/3`),
    `node_time_zone_offset_seconds{time_zone="XDT"} ${offset}`,
  );
  t.is(await zone(`<+03>${hours(offset)}`), `node_time_zone_offset_seconds{time_zone="+03"} ${offset}`);
});
