/** Disks: what was read and written, and how long it took. */
import type { Exposition } from '../../../../transport/net/exposition/exposition.ts';
import { addInfo, addTable, DEVICES_MAX, rowsOf, type Collector, type Column } from './collector.ts';
import type { HostFiles } from './files.ts';

/** Devices that are parts of others, or no disks. Source: node_exporter's flag collector.diskstats.device-exclude. */
const EXCLUDED = /^(?:ram|loop|fd|(?:h|s|v|xv)d[a-z]|nvme\d+n\d+p)\d+$/u;

/**
 * Sectors of /proc/diskstats have this size on every device, in bytes. Source: the kernel's
 * Documentation/block/stat.rst.
 */
const SECTOR_BYTES = 512;

const MS_PER_SECOND = 1_000;

/**
 * Numbers that follow the name, in their order. Older kernels give the first 11 or 15. Source: the kernel's
 * Documentation/admin-guide/iostats.rst.
 */
const FIELDS: readonly (readonly [name: string, help: string, scale?: (value: number) => number])[] = [
  ['reads_completed_total', 'The total number of reads completed successfully.'],
  ['reads_merged_total', 'The total number of reads merged.'],
  ['read_bytes_total', 'The total number of bytes read successfully.', bytes],
  ['read_time_seconds_total', 'The total number of seconds spent by all reads.', seconds],
  ['writes_completed_total', 'The total number of writes completed successfully.'],
  ['writes_merged_total', 'The number of writes merged.'],
  ['written_bytes_total', 'The total number of bytes written successfully.', bytes],
  ['write_time_seconds_total', 'This is the total number of seconds spent by all writes.', seconds],
  ['io_now', 'The number of I/Os currently in progress.'],
  ['io_time_seconds_total', 'Total seconds spent doing I/Os.', seconds],
  ['io_time_weighted_seconds_total', 'The weighted # of seconds spent doing I/Os.', seconds],
  ['discards_completed_total', 'The total number of discards completed successfully.'],
  ['discards_merged_total', 'The total number of discards merged.'],
  ['discarded_sectors_total', 'The total number of sectors discarded successfully.'],
  ['discard_time_seconds_total', 'This is the total number of seconds spent by all discards.', seconds],
  ['flush_requests_total', 'The total number of flush requests completed successfully'],
  ['flush_requests_time_seconds_total', 'This is the total number of seconds spent by all flush requests.', seconds],
];

const COLUMNS: readonly Column<readonly number[]>[] = FIELDS.map(([name, help, scale = same], index) => ({
  name: `node_disk_${name}`,
  type: name === 'io_now' ? 'gauge' : 'counter',
  help,
  of: (numbers) => (numbers[index] === undefined ? null : scale(numbers[index])),
}));

interface Disk {
  readonly major: string;
  readonly minor: string;
  readonly device: string;
  readonly numbers: readonly number[];
}

/** Of /proc/diskstats, with what udev knows of each disk. */
export const diskstats: Collector = {
  name: 'diskstats',
  collect(out, host) {
    const disks = host
      .proc('diskstats')
      .split('\n')
      .map(diskOf)
      .filter((disk) => disk !== null);
    addTable(
      out,
      COLUMNS,
      rowsOf(
        host,
        disks,
        ({ device }) => ({ device }),
        ({ numbers }) => numbers,
      ),
    );
    addDescriptions(out, host, disks.slice(0, DEVICES_MAX));
  },
};

function diskOf(line: string): Disk | null {
  const [major = '', minor = '', device = '', ...numbers] = line.trim().split(/ +/u);
  if (device === '' || EXCLUDED.test(device)) return null;
  return { major, minor, device, numbers: numbers.map(Number).filter((number) => !Number.isNaN(number)) };
}

/** Without udev, as in containers, the disks are named all the same. */
function addDescriptions(out: Exposition, host: HostFiles, disks: readonly Disk[]): void {
  const known = disks.map((disk) => ({
    disk,
    of: properties(host.rootOrNull(`run/udev/data/b${disk.major}:${disk.minor}`)),
  }));
  addInfo(
    out,
    'node_disk_info',
    'Info of /sys/block/<block_device>.',
    known.map(({ disk: { device, major, minor }, of }) => ({
      device,
      major,
      minor,
      path: of('ID_PATH'),
      wwn: of('ID_WWN'),
      model: of('ID_MODEL'),
      serial: of('SCSI_IDENT_SERIAL') || of('ID_SERIAL_SHORT') || of('ID_SERIAL'),
      revision: of('ID_REVISION'),
    })),
  );
  addInfo(
    out,
    'node_disk_filesystem_info',
    'Info about disk filesystem.',
    known
      .filter(({ of }) => of('ID_FS_TYPE') !== '')
      .map(({ disk: { device }, of }) => ({
        device,
        type: of('ID_FS_TYPE'),
        usage: of('ID_FS_USAGE'),
        uuid: of('ID_FS_UUID'),
        version: of('ID_FS_VERSION'),
      })),
  );
  addInfo(
    out,
    'node_disk_device_mapper_info',
    'Info about disk device mapper.',
    known
      .filter(({ of }) => of('DM_NAME') !== '')
      .map(({ disk: { device }, of }) => ({
        device,
        name: of('DM_NAME'),
        uuid: of('DM_UUID'),
        vg_name: of('DM_VG_NAME'),
        lv_name: of('DM_LV_NAME'),
        lv_layer: of('DM_LV_LAYER'),
      })),
  );
}

/** The lines `E:NAME=value` of what udev keeps of a device. */
function properties(text: string | null): (name: string) => string {
  if (text === null) return () => '';
  const all = new Map(
    [...text.matchAll(/^E:(?<name>[^=\n]+)=(?<value>.*)$/gmu)].map(({ groups }) => [
      groups?.['name'] ?? '',
      groups?.['value'] ?? '',
    ]),
  );
  return (name) => all.get(name) ?? '';
}

function same(value: number): number {
  return value;
}

function bytes(sectors: number): number {
  return sectors * SECTOR_BYTES;
}

function seconds(ms: number): number {
  return ms / MS_PER_SECOND;
}
