/** Disks and interfaces that not every machine has, as the documentation of the kernel and real machines show them. */
import test from 'ava';
import { arp } from '../../../../../../agent/observability/metrics/host/arp.ts';
import { diskstats } from '../../../../../../agent/observability/metrics/host/diskstats.ts';
import { mdadm } from '../../../../../../agent/observability/metrics/host/mdadm.ts';
import { netclass } from '../../../../../../agent/observability/metrics/host/netclass.ts';
import { scrapeOf, within } from './host-tree.ts';

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
