/** The file systems that are mounted, and which of them are asked for their size. */
import type { HostFiles } from './files.ts';

/** One mounted file system. */
export interface Mount {
  /**
   * That of another machine is named without the address of that machine: it may be one of the VPN, which nobody is
   * told (R3).
   */
  readonly device: string;
  readonly mountPoint: string;
  /** As the kernel has it: a path need not be UTF-8. */
  readonly path: Buffer;
  readonly type: string;
  readonly isReadOnly: boolean;
  /** Asking it may wait for another machine, or for a program of a user. */
  readonly isRemote: boolean;
}

/**
 * Places of mounts that are no disks of their own, and kinds that hold nothing. Source: the flags of node_exporter's
 * filesystem collector, mount-points-exclude and fs-types-exclude, as of Debian 12, whose own addition of /mnt and
 * /media is left out: there stand the data of many machines.
 */
const EXCLUDED_PLACES = /^\/(?:dev|proc|run|sys|var\/lib\/docker\/.+|var\/lib\/containers\/storage\/.+)(?:$|\/)/u;
const EXCLUDED_TYPES = new Set([
  'autofs',
  'binfmt_misc',
  'bpf',
  'cgroup',
  'cgroup2',
  'configfs',
  'debugfs',
  'devpts',
  'devtmpfs',
  'fusectl',
  'hugetlbfs',
  'iso9660',
  'mqueue',
  'nsfs',
  'overlay',
  'proc',
  'procfs',
  'pstore',
  'rpc_pipefs',
  'securityfs',
  'selinuxfs',
  'squashfs',
  'sysfs',
  'tracefs',
]);

const REMOTE_TYPES =
  /^(?:nfs\d?|cifs|smb\w*|9p|ceph|glusterfs|lustre|afs|gfs2|ocfs2|beegfs|orangefs|virtiofs|fuse\b.*|fuse\w*)$/u;

/**
 * Addresses of servers, in all ways in which devices name them: `10.0.0.1:/x`, `[fd00::1]:/x`, `//10.0.0.1/x`,
 * `user@fd00::1:`.
 */
const ADDRESSES =
  /\b\d{1,3}(?:\.\d{1,3}){3}\b|\[[\da-f:.]+(?:%\w+)?\]|(?<=^|\/\/|@|,)[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}/giu;

/** Those of /proc/1/mounts, or of this process where that may not be read; the excluded ones left out. */
export function mountsOf(host: HostFiles): Mount[] {
  return text(host)
    .split('\n')
    .map(mountOf)
    .filter((mount) => mount !== null);
}

function text(host: HostFiles): string {
  try {
    return host.proc('1/mounts', 'latin1');
  } catch {
    // another user's process: not readable where /proc is mounted with hidepid
    return host.proc('self/mounts', 'latin1');
  }
}

function mountOf(line: string): Mount | null {
  const [device, place, type = '', options = ''] = line.split(' ');
  if (device === undefined || place === undefined || EXCLUDED_TYPES.has(type)) return null;
  const path = Buffer.from(plain(place), 'latin1');
  const mountPoint = path.toString('utf8');
  if (EXCLUDED_PLACES.test(mountPoint)) return null;
  const isRemote = REMOTE_TYPES.test(type);
  const name = Buffer.from(plain(device), 'latin1').toString('utf8');
  return {
    device: isRemote ? name.replaceAll(ADDRESSES, 'address') : name,
    mountPoint,
    path,
    type,
    isReadOnly: options.split(',').includes('ro'),
    isRemote,
  };
}

/**
 * The kernel writes blanks, tabs, line ends and backslashes as `\` and three octal digits. Source: proc(5),
 * getmntent(3).
 */
function plain(field: string): string {
  return field.includes('\\')
    ? field.replaceAll(/\\(?<octal>[0-7]{3})/gu, (_, octal: string) =>
        String.fromCodePoint(Number.parseInt(octal, 8) % 256),
      )
    : field;
}
