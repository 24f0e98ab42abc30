/** Software RAID. */
import { addTable, rowsOf, type Collector } from './collector.ts';
import { numberOrNull } from './files.ts';

/** States that a family names, one of which is 1. */
const STATES = ['active', 'inactive', 'recovering', 'resync', 'check'] as const;
const DISKS = ['active', 'failed', 'spare'] as const;

interface Raid {
  readonly device: string;
  readonly state: (typeof STATES)[number];
  readonly disks: Readonly<Record<(typeof DISKS)[number], number>>;
  readonly required: number;
  readonly blocks: number | null;
  readonly synced: number | null;
}

/** Of /proc/mdstat; without the module there is none. */
export const mdadm: Collector = {
  name: 'mdadm',
  collect(out, host) {
    const raids = host
      .proc('mdstat')
      .split(/\n(?=\S)/u)
      .map(raidOf)
      .filter((raid) => raid !== null);
    const rows = rowsOf(
      host,
      raids,
      ({ device }) => ({ device }),
      (raid) => raid,
    );
    const states = [...rows.values()].flatMap((raid) =>
      STATES.map((state) => ({ device: raid.device, state, value: Number(raid.state === state) })),
    );
    const disks = [...rows.values()].flatMap((raid) =>
      DISKS.map((state) => ({ device: raid.device, state, value: raid.disks[state] })),
    );
    const byState = (all: typeof disks | typeof states) =>
      rowsOf(
        host,
        all as readonly { device: string; state: string; value: number }[],
        ({ device, state }) => ({ device, state }),
        ({ value }) => value,
      );
    addTable(
      out,
      [{ name: 'node_md_state', help: 'Indicates the state of md-device.', of: (value) => value }],
      byState(states),
    );
    addTable(
      out,
      [{ name: 'node_md_disks', help: 'Number of active/failed/spare disks of device.', of: (value) => value }],
      byState(disks),
    );
    addTable(
      out,
      [
        { name: 'node_md_disks_required', help: 'Total number of disks of device.', of: (raid) => raid.required },
        { name: 'node_md_blocks', help: 'Total number of blocks on device.', of: (raid) => raid.blocks },
        { name: 'node_md_blocks_synced', help: 'Number of blocks synced on device.', of: (raid) => raid.synced },
      ],
      rows,
    );
  },
};

/**
 * `md0 : active raid1 sdb1[1] sda1[0](F)`, then lines with blocks, `[2/1]` (disks wanted, disks that work) and the
 * progress of what is under way.
 */
function raidOf(text: string): Raid | null {
  const head = /^(?<device>md\S+) : (?<state>active|inactive)(?<rest>.*)$/mu.exec(text)?.groups;
  if (head === undefined) return null;
  const members = [...(head['rest'] ?? '').matchAll(/ \S+\[\d+\](?<flags>(?:\([A-Z]\))*)/gu)].map(
    ({ groups }) => groups?.['flags'] ?? '',
  );
  const failed = members.filter((flags) => flags.includes('(F)')).length;
  const spare = members.filter((flags) => flags.includes('(S)')).length;
  const [, wanted, working] = /\[(\d+)\/(\d+)\]/u.exec(text) ?? [];
  const blocks = numberOrNull(/^\s+(?<blocks>\d+) blocks/mu.exec(text)?.groups?.['blocks']);
  const progress = /\b(?<what>recovery|reshape|resync|check)\s*=(?:.*\((?<synced>\d+)\/\d+\))?/u.exec(text)?.groups;
  const active = head['state'] === 'inactive' ? 0 : Number(working ?? members.length - failed - spare);
  return {
    device: head['device'] ?? '',
    state: head['state'] === 'inactive' ? 'inactive' : stateOf(progress?.['what']),
    disks: { active, failed, spare },
    required: Number(wanted ?? (head['state'] === 'inactive' ? 0 : members.length)),
    blocks,
    synced: progress === undefined ? blocks : numberOrNull(progress['synced'] ?? '0'),
  };
}

function stateOf(progress: string | undefined): Raid['state'] {
  if (progress === undefined) return 'active';
  return progress === 'resync' || progress === 'check' ? progress : 'recovering';
}
