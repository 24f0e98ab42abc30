/** Which boot of the machine this is: what the launcher notes holds until the next one. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Layout } from './layout.ts';

/** Largest file of starts that is read, in characters; the launcher keeps 20 lines. */
const STARTS_CHARS_MAX = 16_384;

/** The id of this boot. Source: random(4). */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'none'; // as deploy/launcher.sh has it
  }
}

/** Tells the launcher that the hashes of these versions were looked at, so that the next start need not. */
export function noteVerified(layout: Layout, names: readonly string[]): void {
  const temporary = `${layout.verified}.new`;
  try {
    writeFileSync(temporary, names.map((name) => `${bootId()} ${name}\n`).join(''));
    renameSync(temporary, layout.verified);
  } catch {
    // it looks again
  }
}

/** Starts of the agent in this boot that the launcher noted, since an uptime in s; none where another one starts it. */
export function startsSince({ agentStarts }: Layout, since: number): number {
  try {
    const boot = bootId();
    const lines = readFileSync(agentStarts, 'utf8').slice(-STARTS_CHARS_MAX).split('\n');
    return lines.map((line) => line.split(' ')).filter(([of, up]) => of === boot && Number(up) >= since).length;
  } catch {
    return 0;
  }
}
