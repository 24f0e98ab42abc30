/** An admin that starts anew, in the same process, when its database was set back beneath it. */
import type { Log } from '../transport/net/log.ts';
import { EXIT_START_FAILED, type Running } from './signals.ts';

/** What can be renewed. */
export interface Renewable extends Running {
  /** Resolves when it is to be stopped and started again. */
  readonly setBack: Promise<void>;
}

/**
 * Starts it, and starts it again each time that it says so. One that does not come back ends the process, whose
 * supervisor knows what to do.
 */
export async function startRenewed(
  start: () => Promise<Renewable>,
  describe: (error: unknown) => string,
  log: Log,
): Promise<Running> {
  let isStopped = false;
  let running: Promise<Renewable> = start();
  void follow(await running);
  return {
    async stop() {
      isStopped = true;
      await (await running).stop();
    },
  };

  async function follow(one: Renewable): Promise<void> {
    await one.setBack;
    if (isStopped) return;
    log.warn(
      {},
      'The database is not the one that it was: it was restored, set back or promoted. The admin starts anew, from its rows',
    );
    running = one.stop().then(start);
    try {
      void follow(await running);
    } catch (error) {
      process.stderr.write(`${describe(error)}\n`);
      process.exit(EXIT_START_FAILED);
    }
  }
}
