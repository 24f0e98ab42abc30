/** Lines as of `ls -l`, which clients print as they come. */
import type { Stats } from 'node:fs';
import { constants } from 'node:fs';
import type { Accounts } from './accounts.ts';

/**
 * Age from which the year is said in place of the time of day, in ms. Source: POSIX, ls: six months; as ls counts them.
 */
const RECENT_MS = 31_556_952_000 / 2;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const KINDS: Readonly<Record<number, string>> = {
  [constants.S_IFREG]: '-',
  [constants.S_IFDIR]: 'd',
  [constants.S_IFLNK]: 'l',
  [constants.S_IFCHR]: 'c',
  [constants.S_IFBLK]: 'b',
  [constants.S_IFIFO]: 'p',
  [constants.S_IFSOCK]: 's',
};

const SET_USER = 0o4000;
const SET_GROUP = 0o2000;
const STICKY = 0o1000;

/** All of the line but the name, with the space before it. `stats` is null of a file that could not be looked at. */
export function longNameStart(stats: Stats | null, accounts: Accounts, nowMs: number): string {
  if (stats === null) return '?---------    ? ?        ?               ? ?            ';
  const user = accounts.userName(stats.uid) ?? String(stats.uid);
  const group = accounts.groupName(stats.gid) ?? String(stats.gid);
  return `${modeText(stats.mode)} ${String(stats.nlink).padStart(4)} ${user.padEnd(8)} ${group.padEnd(8)} ${String(stats.size).padStart(8)} ${dateText(stats.mtimeMs, nowMs)} `;
}

/** As `ls` writes a mode: `drwxr-sr-t`. */
export function modeText(mode: number): string {
  return (
    (KINDS[mode & constants.S_IFMT] ?? '?') +
    triple(mode >> 6, mode & SET_USER, 's') +
    triple(mode >> 3, mode & SET_GROUP, 's') +
    triple(mode, mode & STICKY, 't')
  );
}

function triple(bits: number, special: number, sign: string): string {
  const last = bits & 1 ? (special ? sign : 'x') : special ? sign.toUpperCase() : '-';
  return `${bits & 4 ? 'r' : '-'}${bits & 2 ? 'w' : '-'}${last}`;
}

/** In the machine's own time zone, as a shell there would say it. */
function dateText(timeMs: number, nowMs: number): string {
  const time = new Date(timeMs);
  const isRecent = timeMs <= nowMs && nowMs - timeMs < RECENT_MS;
  const rest = isRecent ? `${two(time.getHours())}:${two(time.getMinutes())}` : String(time.getFullYear()).padStart(5);
  return `${MONTHS[time.getMonth()]} ${String(time.getDate()).padStart(2)} ${rest}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
