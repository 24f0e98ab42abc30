/** Devices that not every machine has, as the kernel's documentation and real machines show them. */
import test from 'ava';
import { arp } from '../../../../../../agent/observability/metrics/host/arp.ts';
import { conntrack } from '../../../../../../agent/observability/metrics/host/conntrack.ts';
import { cpu } from '../../../../../../agent/observability/metrics/host/cpu.ts';
import { cpufreq } from '../../../../../../agent/observability/metrics/host/cpufreq.ts';
import { diskstats } from '../../../../../../agent/observability/metrics/host/diskstats.ts';
import { edac } from '../../../../../../agent/observability/metrics/host/edac.ts';
import { hwmon } from '../../../../../../agent/observability/metrics/host/hwmon.ts';
import { mdadm } from '../../../../../../agent/observability/metrics/host/mdadm.ts';
import { meminfo } from '../../../../../../agent/observability/metrics/host/meminfo.ts';
import { netclass } from '../../../../../../agent/observability/metrics/host/netclass.ts';
import { powerSupply } from '../../../../../../agent/observability/metrics/host/power-supply.ts';
import { pressure } from '../../../../../../agent/observability/metrics/host/pressure.ts';
import { schedstat } from '../../../../../../agent/observability/metrics/host/schedstat.ts';
import { softnet } from '../../../../../../agent/observability/metrics/host/softnet.ts';
import { thermal } from '../../../../../../agent/observability/metrics/host/thermal.ts';
import { time } from '../../../../../../agent/observability/metrics/host/time.ts';
import { udpQueues } from '../../../../../../agent/observability/metrics/host/udp-queues.ts';
import { scrapeOf, type Tree } from './host-tree.ts';

/** Files of one directory. */
function within(directory: string, files: Readonly<Record<string, string>>): Tree {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [`${directory}/${name}`, `${content}\n`]));
}

test('thermal zones are in degrees, and cooling devices have a state and its limit', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      ...within('sys/class/thermal/thermal_zone0', { type: 'x86_pkg_temp', temp: '47500' }),
      ...within('sys/class/thermal/thermal_zone1', { type: 'iwlwifi' }),
      ...within('sys/class/thermal/cooling_device0', { type: 'Processor', cur_state: '1', max_state: '10' }),
    },
    thermal,
  );

  t.deepEqual(lines, [
    'node_thermal_zone_temp{zone="0",type="x86_pkg_temp"} 47.5',
    'node_cooling_device_cur_state{name="0",type="Processor"} 1',
    'node_cooling_device_max_state{name="0",type="Processor"} 10',
    'node_scrape_collector_success{collector="thermal_zone"} 1',
  ]);
});

test('sensors carry the path of their chip, its name and their labels beside them, and units', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      'sys/devices/platform/coretemp.0/uevent': '',
      'sys/class/hwmon/hwmon3/device': ['../../../devices/platform/coretemp.0'],
      ...within('sys/class/hwmon/hwmon3', {
        name: 'coretemp',
        temp1_input: '51000',
        temp1_label: 'Package id 0',
        temp1_max: '100000',
        temp1_crit: '105000',
        temp1_crit_alarm: '0',
        fan2_input: '1200',
        fan2_alarm: '0',
        in0_input: '1056',
        power1_average: '25000000',
        energy1_input: '7000000',
        uevent: 'x',
        temp_broken: '1',
      }),
    },
    hwmon,
  );

  const chip = 'chip="platform_coretemp_0"';
  t.deepEqual(lines.toSorted(), [
    `node_hwmon_chip_names{${chip},chip_name="coretemp"} 1`,
    `node_hwmon_energy_joule_total{${chip},sensor="energy1"} 7`,
    `node_hwmon_fan_alarm{${chip},sensor="fan2"} 0`,
    `node_hwmon_fan_rpm{${chip},sensor="fan2"} 1200`,
    `node_hwmon_in_volts{${chip},sensor="in0"} 1.056`,
    `node_hwmon_power_average_watt{${chip},sensor="power1"} 25`,
    `node_hwmon_sensor_label{${chip},sensor="temp1",label="Package id 0"} 1`,
    `node_hwmon_temp_celsius{${chip},sensor="temp1"} 51`,
    `node_hwmon_temp_crit_alarm_celsius{${chip},sensor="temp1"} 0`,
    `node_hwmon_temp_crit_celsius{${chip},sensor="temp1"} 105`,
    `node_hwmon_temp_max_celsius{${chip},sensor="temp1"} 100`,
    'node_scrape_collector_success{collector="hwmon"} 1',
  ]);
});

test('batteries and adapters are in volts, watt-hours and degrees', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      ...within('sys/class/power_supply/AC', { type: 'Mains', online: '1' }),
      ...within('sys/class/power_supply/BAT0', {
        type: 'Battery',
        status: 'Discharging',
        capacity: '81',
        cycle_count: '12',
        energy_now: '49000000',
        voltage_now: '12229000',
        temp: '305',
        serial_number: '',
      }),
    },
    powerSupply,
  );

  t.deepEqual(lines.toSorted(), [
    'node_power_supply_capacity{power_supply="BAT0"} 81',
    'node_power_supply_cyclecount{power_supply="BAT0"} 12',
    'node_power_supply_energy_watthour{power_supply="BAT0"} 49',
    'node_power_supply_info{power_supply="AC",type="Mains"} 1',
    'node_power_supply_info{power_supply="BAT0",status="Discharging",type="Battery"} 1',
    'node_power_supply_online{power_supply="AC"} 1',
    'node_power_supply_temp_celsius{power_supply="BAT0"} 30.5',
    'node_power_supply_voltage_volt{power_supply="BAT0"} 12.229',
    'node_scrape_collector_success{collector="powersupplyclass"} 1',
  ]);
});

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

test('a RAID that lost a disk, one that recovers and one that is off are told apart', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      'proc/mdstat': [
        'Personalities : [raid1] [raid6]',
        'md0 : active raid1 sdb1[1](F) sda1[0]',
        '      248896 blocks [2/1] [U_]',
        '      ',
        'md1 : active raid6 sdd[4] sdc[2] sdb[1] sda[0] sde[5](S)',
        '      195310144 blocks level 6, 64k chunk, algorithm 2 [4/3] [UUU_]',
        '      [=>...................]  recovery =  8.5% (16775552/195310144) finish=17.0min speed=259783K/sec',
        '      ',
        'md2 : inactive sdf[0](S)',
        '      7932 blocks super 1.2',
        '      ',
        'unused devices: <none>',
        '',
      ].join('\n'),
    },
    mdadm,
  );

  const of = (device: string): string[] =>
    lines
      .filter((line) => line.includes(`device="${device}"`) && !/node_md_state.* 0$/u.test(line))
      .map((line) => line.replace(`device="${device}"`, '').replace(/^node_md_/u, ''));
  t.deepEqual(of('md0'), [
    'state{,state="active"} 1',
    'disks{,state="active"} 1',
    'disks{,state="failed"} 1',
    'disks{,state="spare"} 0',
    'disks_required{} 2',
    'blocks{} 248896',
    'blocks_synced{} 248896',
  ]);
  t.deepEqual(of('md1'), [
    'state{,state="recovering"} 1',
    'disks{,state="active"} 3',
    'disks{,state="failed"} 0',
    'disks{,state="spare"} 1',
    'disks_required{} 4',
    'blocks{} 195310144',
    'blocks_synced{} 16775552',
  ]);
  t.deepEqual(of('md2'), [
    'state{,state="inactive"} 1',
    'disks{,state="active"} 0',
    'disks{,state="failed"} 0',
    'disks{,state="spare"} 1',
    'disks_required{} 0',
    'blocks{} 7932',
    'blocks_synced{} 7932',
  ]);
});

test('a disk has the names that udev knows of it; parts of disks are not disks, and an older kernel counts less', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      'proc/diskstats':
        '   8       0 sda 1 2 3 4000 5 6 7 8 9 10 11\n   8       1 sda1 1 1 1 1 1 1 1 1 1 1 1\n   7       0 loop0 1 1 1 1 1 1 1 1 1 1 1\n 253       0 dm-0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n',
      'run/udev/data/b8:0':
        'S:disk/by-id/x\nE:ID_PATH=pci-0000:00:1f.2-ata-1\nE:ID_WWN=0x5000\nE:ID_MODEL=Disk "A"\nE:ID_SERIAL_SHORT=S1\nE:ID_SERIAL=Disk_S1\nE:ID_REVISION=1.0\n',
      'run/udev/data/b253:0':
        'E:DM_NAME=vg-root\nE:DM_UUID=LVM-1\nE:DM_VG_NAME=vg\nE:DM_LV_NAME=root\nE:ID_FS_TYPE=ext4\nE:ID_FS_USAGE=filesystem\nE:ID_FS_UUID=u-1\nE:ID_FS_VERSION=1.0\n',
    },
    diskstats,
  );

  t.deepEqual(
    lines.filter((line) => /_info|"sda"/u.test(line)),
    [
      ...[
        'reads_completed_total 1',
        'reads_merged_total 2',
        'read_bytes_total 1536',
        'read_time_seconds_total 4',
        'writes_completed_total 5',
        'writes_merged_total 6',
        'written_bytes_total 3584',
        'write_time_seconds_total 0.008',
        'io_now 9',
        'io_time_seconds_total 0.01',
        'io_time_weighted_seconds_total 0.011',
      ].map((sample) => `node_disk_${sample.replace(' ', '{device="sda"} ')}`),
      'node_disk_info{device="sda",major="8",minor="0",path="pci-0000:00:1f.2-ata-1",wwn="0x5000",model="Disk \\"A\\"",serial="S1",revision="1.0"} 1',
      'node_disk_info{device="dm-0",major="253",minor="0",path="",wwn="",model="",serial="",revision=""} 1',
      'node_disk_filesystem_info{device="dm-0",type="ext4",usage="filesystem",uuid="u-1",version="1.0"} 1',
      'node_disk_device_mapper_info{device="dm-0",name="vg-root",uuid="LVM-1",vg_name="vg",lv_name="root",lv_layer=""} 1',
    ],
  );
  t.true(lines.includes('node_disk_flush_requests_time_seconds_total{device="dm-0"} 0.017'));
});

test('an interface that is down has no carrier, and what is no interface is passed over', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      ...within('sys/class/net/eth0', {
        flags: '0x1003',
        operstate: 'up',
        carrier: '1',
        dormant: '0',
        speed: '1000',
        duplex: 'full',
        mtu: '1500',
        address: '02:00:00:00:00:01',
        broadcast: 'ff:ff:ff:ff:ff:ff',
        ifalias: 'up "link"',
        type: '1',
      }),
      ...within('sys/class/net/wg0', { flags: '0x90', operstate: 'down', carrier: '1', mtu: '1420', address: '' }),
      'sys/class/net/bonding_masters': 'bond0\n',
    },
    netclass,
  );

  t.deepEqual(lines, [
    'node_network_up{device="eth0"} 1',
    'node_network_up{device="wg0"} 0',
    'node_network_carrier{device="eth0"} 1',
    'node_network_dormant{device="eth0"} 0',
    'node_network_flags{device="eth0"} 4099',
    'node_network_flags{device="wg0"} 144',
    'node_network_mtu_bytes{device="eth0"} 1500',
    'node_network_mtu_bytes{device="wg0"} 1420',
    'node_network_protocol_type{device="eth0"} 1',
    'node_network_speed_bytes{device="eth0"} 125000000',
    'node_network_info{device="eth0",address="02:00:00:00:00:01",broadcast="ff:ff:ff:ff:ff:ff",duplex="full",ifalias="up \\"link\\"",operstate="up"} 1',
    'node_network_info{device="wg0",address="",broadcast="",duplex="",ifalias="",operstate="down"} 1',
    'node_scrape_collector_success{collector="netclass"} 1',
  ]);
});

test('neighbours are counted, and never named', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      'proc/net/arp':
        'IP address       HW type     Flags       HW address            Mask     Device\n10.0.0.1        0x1         0x2         02:fc:00:00:00:05     *        eth0\n10.0.0.2        0x1         0x2         02:fc:00:00:00:06     *        eth0\n10.1.0.2        0x1         0x0         00:00:00:00:00:00     *        wg0\n',
    },
    arp,
  );

  t.deepEqual(lines, [
    'node_arp_entries{device="eth0"} 2',
    'node_arp_entries{device="wg0"} 1',
    'node_scrape_collector_success{collector="arp"} 1',
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
