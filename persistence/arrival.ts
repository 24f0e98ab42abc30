/** A database that is starting, or away, when an admin starts: waited for. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { DatabaseUnavailable } from '../actors/ports.ts';
import type { Log } from '../transport/net/log.ts';
import { asUnavailable } from './availability.ts';

/** Waits between two tries, in ms: the first, and the longest. */
const RETRY_MS = 100;
const RETRY_MS_MAX = 2_000;

/**
 * Resolves when the database answers. What says that it is away or starting is told in one line and tried again for
 * `msMax`; then, and for whatever else is wrong (a password, a name), rejects as the first try did.
 */
export async function awaitDatabase(pool: Pool, msMax: number, log: Log): Promise<void> {
  const endsMs = performance.now() + msMax;
  let isTold = false;
  for (let waitMs = RETRY_MS; ; waitMs = Math.min(waitMs * 2, RETRY_MS_MAX)) {
    try {
      await pool.query('select 1');
      if (isTold) log.info({}, 'The database answers');
      return;
    } catch (error) {
      const problem = asUnavailable(error, 'connecting for the first time');
      if (!(problem instanceof DatabaseUnavailable) || performance.now() + waitMs > endsMs) throw problem;
      if (!isTold)
        log.warn(
          { error: (error as Error).message },
          `The database does not answer yet: it is tried again for ${Math.ceil(msMax / 1_000)} s`,
        );
      isTold = true;
    }
    await delay(waitMs);
  }
}
