/** The person's terminal while a recording is played in it. */
import { setTimeout as delay } from 'node:timers/promises';
import { write } from '../output/output.ts';
import { createModeTracker } from './modes.ts';
import type { Stage } from './player.ts';

/**
 * "Are you well?" and its answer (DSR): when that is there, the answers to all that the recording asked are there as
 * well.
 */
const STATUS_QUESTION = '\u001B[5n';
const STATUS_ANSWER = '\u001B[0n';

/** How long that answer may take, in ms: not every terminal gives one. */
const ANSWER_MS_MAX = 300;

const CTRL_C = '\u0003';
const QUIT = 'q';

/** A stage that must be left in the end. */
export interface TerminalStage extends Stage {
  /** Puts the terminal back as it was. */
  leave(): Promise<void>;
}

/**
 * The terminal of stdout. `resizes`: it is asked to take the sizes of the recording. `stop` is called for Ctrl-C, `q`
 * and signals; what else is typed, or answered by the terminal, is swallowed.
 */
export function openTerminal(resizes: boolean, stop: (isInterrupt: boolean) => void): TerminalStage {
  const modes = createModeTracker();
  const { stdin } = process;
  const isRead = stdin.isTTY;
  let answered = '';
  let onAnswer = (): void => {};
  const heard = (data: Buffer): void => {
    const text = data.toString('latin1');
    if (text.includes(CTRL_C)) stop(true);
    else if (text === QUIT) stop(false); // alone: an answer of the terminal may have the letter
    answered = `${answered}${text}`.slice(-STATUS_ANSWER.length);
    if (answered === STATUS_ANSWER) onAnswer();
  };
  const signalled = (): void => stop(true);
  const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of SIGNALS) process.on(signal, signalled);
  if (isRead) stdin.setRawMode(true).on('data', heard).resume();

  return {
    async write(text) {
      modes.saw(text);
      await write(text);
    },
    async resize({ columns, rows }) {
      if (resizes) await write(`\u001B[8;${rows};${columns}t`);
    },
    nowMs: () => performance.now(),
    wait: async (ms, signal) => {
      await delay(ms, undefined, { signal }).catch(() => {});
    }, // cut short by a key, which is no failure
    async leave() {
      await write(modes.restoring());
      if (isRead) {
        const gone = new AbortController();
        onAnswer = () => gone.abort();
        await write(STATUS_QUESTION);
        await delay(ANSWER_MS_MAX, undefined, { signal: gone.signal }).catch(() => {}); // cut short by the answer
        stdin.off('data', heard).setRawMode(false).pause();
      }
      for (const signal of SIGNALS) process.off(signal, signalled);
    },
  };
}

/** What is no terminal gets all that was shown, at once. */
export const PLAIN_STAGE: Stage = {
  write,
  resize: () => Promise.resolve(),
  nowMs: () => 0,
  wait: () => Promise.resolve(),
};
