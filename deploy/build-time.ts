/** When something is said to have been built: the same for all builds of one commit, so that they can be compared. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * SOURCE_DATE_EPOCH (https://reproducible-builds.org/specs/source-date-epoch/), else the time of the commit, else now.
 * Unix ms. Throws at a SOURCE_DATE_EPOCH that is none.
 */
export function buildTimeMs(env: Readonly<Record<string, string | undefined>> = process.env): number {
  const given = env['SOURCE_DATE_EPOCH'];
  if (given !== undefined) {
    if (!/^\d{1,11}$/u.test(given))
      throw new Error(`SOURCE_DATE_EPOCH is "${given}": it should be a whole number of seconds since 1970`);
    return Number(given) * 1_000;
  }
  try {
    const cwd = fileURLToPath(new URL('..', import.meta.url));
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    return (
      Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd, encoding: 'utf8', stdio: [...stdio] })) * 1_000
    );
  } catch {
    return Date.now();
  }
}
