/**
 * The life of a resident program: started, held until a signal, stopped within bounded time, with a status that tells
 * how it went.
 */
import type { Log } from '../transport/net/log.ts';
import { contain } from './containment.ts';

/** Exit statuses of the resident programs. 70 is EX_SOFTWARE of sysexits.h. */
export const EXIT_STOPPED = 0;
export const EXIT_START_FAILED = 1;
export const EXIT_BAD_SETTINGS = 2;
export const EXIT_BUG = 70;

/**
 * Time an orderly stop may take, in ms, before the program ends anyhow. Below the 30 s that supervisors of processes
 * allow, as a rule.
 */
export const STOP_MS_MAX = 25_000;

/** Exit status of a program ended by a second signal: 128 and the signal's number, as shells have it. */
const SIGNAL_STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

type EndingSignal = keyof typeof SIGNAL_STATUS;

/** What was started. */
export interface Running {
  stop(): Promise<void>;
}

/**
 * Starts a service and ends the process when it has been stopped. SIGTERM, SIGINT and SIGHUP stop it, a second one ends
 * the process at once. While it starts, the first one aborts the signal that `start` gets: a start that rejects
 * with its reason was stopped in order. A start that fails prints one line, `describe(error)`, to stderr.
 * What nobody caught ends it, and stderr holds lines of the log alone: see cli/containment.ts.
 */
export async function runUntilSignalled(options: {
  readonly start: (signal: AbortSignal) => Promise<Running>;
  readonly describe: (error: unknown) => string;
  readonly log: Log;
  readonly stopMsMax?: number;
}): Promise<never> {
  const { log, stopMsMax = STOP_MS_MAX } = options;
  contain({ log, bugStatus: EXIT_BUG });
  const unwanted = new AbortController();
  const signalled = nextSignal(log, () => unwanted.abort());

  const starting = options.start(unwanted.signal);
  const outcome = await Promise.race([
    starting.then(
      () => 'started' as const,
      (error: unknown) => ({ error }),
    ),
    signalled,
  ]);
  if (typeof outcome === 'object' && !unwanted.signal.aborted) {
    process.stderr.write(`${options.describe(outcome.error)}\n`);
    return process.exit(EXIT_START_FAILED);
  }

  await signalled;
  const stopped = limitStop(log, stopMsMax);
  try {
    const running = await starting.catch((error: unknown) => {
      if (error !== unwanted.signal.reason) throw error;
      return null;
    });
    await running?.stop();
  } catch (error) {
    log.error({ error }, 'The stop failed');
    return process.exit(EXIT_START_FAILED);
  }
  stopped();
  return process.exit(EXIT_STOPPED);
}

/**
 * Ends the process when a stop takes longer than this; the returned function calls that off. Until then it keeps the
 * process alive: timers of what stops do not, and one that waits for nothing else would end with status 13.
 */
export function limitStop(log: Log, stopMsMax = STOP_MS_MAX): () => void {
  const timer = setTimeout(() => {
    log.error({ stop_ms_max: stopMsMax }, 'The stop takes too long; the program ends now');
    process.exit(EXIT_START_FAILED);
  }, stopMsMax);
  return () => clearTimeout(timer);
}

/** Resolves at the first signal, of which `told` hears at once; ends the process at the second. */
async function nextSignal(log: Log, told: () => void): Promise<'signalled'> {
  return new Promise((resolve) => {
    let seen = false;
    const onSignal = (signal: EndingSignal) => {
      if (seen) process.exit(SIGNAL_STATUS[signal]);
      seen = true;
      log.info({ signal }, 'Stopping; a second signal ends the program at once');
      told();
      resolve('signalled');
    };
    for (const signal of Object.keys(SIGNAL_STATUS) as EndingSignal[]) process.on(signal, onSignal);
  });
}
