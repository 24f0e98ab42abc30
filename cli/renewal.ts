/**
 * An admin that starts anew, in the same process, when its database was set back beneath it, and ends with its process
 * when another one has its name.
 */
import type { Log } from '../transport/net/log.ts';
import { EXIT_START_FAILED, limitStop, type Running } from './resident-program.ts';

/** What can be renewed. */
export interface Renewable extends Running {
  /** Resolves when it is to be stopped and started again. */
  readonly setBack: Promise<void>;
  /** Resolves when it is to end at once: nothing that it does is wanted. The error says why, for the operator. */
  readonly takenOver: Promise<Error>;
}

/**
 * Starts it, and starts it again each time that it says so. One that does not come back ends the process, whose
 * supervisor knows what to do. The signal aborts before the stop: also a start anew is given up then.
 */
export async function startRenewed(
  start: (signal: AbortSignal) => Promise<Renewable>,
  {
    describe,
    log,
    signal,
  }: { readonly describe: (error: unknown) => string; readonly log: Log; readonly signal: AbortSignal },
): Promise<Running> {
  let running: Promise<Renewable | null> = start(signal);
  void follow(await running);
  return {
    async stop() {
      await (await running)?.stop();
    },
  };

  async function follow(one: Renewable | null): Promise<void> {
    if (one === null) return;
    void one.takenOver.then(end); // also while it stops
    await one.setBack;
    if (signal.aborted) return;
    log.warn(
      {},
      'The database is not the one that it was: it was restored, set back or promoted. The admin starts anew, from its rows',
    );
    const stopped = limitStop(log);
    running = one
      .stop()
      .finally(stopped)
      .then(() => start(signal))
      .catch((error: unknown) => {
        if (signal.aborted) return null;
        return end(error);
      });
    void follow(await running);
  }

  function end(error: unknown): never {
    process.stderr.write(`${describe(error)}\n`);
    return process.exit(EXIT_START_FAILED);
  }
}
