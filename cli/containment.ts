/** What a program does not say itself: errors that nobody caught, Node's warnings, and what libraries print. */
import { format } from 'node:util';
import type { Log } from '../transport/net/log.ts';

/** What a library prints is cut after so many UTF-16 units. */
export const PRINT_LENGTH_MAX = 1_000;

/** How a program is contained. */
export interface Containment {
  readonly log: Log;
  /** Its exit status after a bug. */
  readonly bugStatus: number;
  /** Writes the line that says so, for a log that writes of an error its message alone. */
  readonly tellBug?: (error: unknown, what: string) => void;
}

/**
 * Takes all of it into the log: stderr holds its lines and nothing else. An error that nobody caught is a bug: logged,
 * and the end at once, since the state is then unknown and a restart recovers. So it is at an agent too. What runs
 * there is left to its exec shims, as by a kill, and the next agent takes it up; an agent that went on could be one
 * that lives and never dials again, of a machine that nobody reaches otherwise.
 */
export function contain({ log, bugStatus, tellBug = (error, what) => log.error({ error }, what) }: Containment): void {
  endOnBugs(bugStatus, tellBug);
  logWarnings(log);
  logPrints(log);
}

function endOnBugs(status: number, tell: (error: unknown, what: string) => void): void {
  const end = (error: unknown, what: string) => {
    try {
      tell(error, what);
    } finally {
      process.exit(status);
    }
  };
  process.on('uncaughtException', (error) => {
    end(error, 'An error that nobody caught');
  });
  process.on('unhandledRejection', (error) => {
    end(error, 'A rejection that nobody handled');
  });
}

/** That something will go in a later version of a library tells developers, not operators: the versions are exact. */
function logWarnings(log: Log): void {
  process.removeAllListeners('warning'); // Node's own listener prints two lines of text
  process.on('warning', (error) => {
    if (error.name === 'DeprecationWarning') log.debug({ error }, 'Node warns of something deprecated');
    else log.warn({ error }, 'Node warns');
  });
}

/** A library may print what a peer said: control characters are written out in a line, and a line is not forged. */
function logPrints(log: Log): void {
  const printed =
    (level: 'debug' | 'warn') =>
    (...words: unknown[]) => {
      log[level]({ text: format(...words).slice(0, PRINT_LENGTH_MAX) }, 'A library printed');
    };
  for (const name of ['log', 'info', 'debug', 'dir'] as const) console[name] = printed('debug');
  for (const name of ['warn', 'error', 'trace'] as const) console[name] = printed('warn');
}
