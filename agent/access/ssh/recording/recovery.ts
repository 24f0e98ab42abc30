/**
 * Recordings that an agent left open when it was killed: the next one finishes them, as far as they came, as truncated.
 * So are those that its own disk did not take at their end, as what they are where all of their text is there. One
 * goes only when nothing can be made of it. With a full disk, say, it stays and is tried again.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import type { Log } from '../../../../transport/net/log.ts';
import { systemProblem } from '../../../problem.ts';
import type { SessionClock } from '../../../session/ports.ts';
import { parseSidecar } from './spool.ts';
import type { RecordingSidecar, RecordingSpool } from './spool.ts';

/** Those that could not be finished are tried again after so long, in ms, and at each start of the agent. */
export const RECOVERY_RETRY_MS = 600_000;

/**
 * What is longer, in bytes, was never written by a recorder: twice the most text that an admin asks for (`bytes_max` in
 * transport/protocol/ssh.ts).
 */
const TEXT_BYTES_MAX = 134_217_728;

/** Codes of what is wrong with the file itself. The same would be read from it at each try. */
const DAMAGES: ReadonlySet<string | undefined> = new Set([
  'Z_DATA_ERROR',
  'Z_BUF_ERROR',
  'Z_NEED_DICT',
  'ERR_BUFFER_TOO_LARGE',
]);

/** What the recovery needs. */
export interface RecoveryOptions {
  readonly spool: RecordingSpool;
  readonly clock: Pick<SessionClock, 'after'>;
  readonly log: Log;
}

/** The recovery of what was left open, and of a disk that takes nothing. Begins when it is made; nothing throws. */
export class RecordingRecovery {
  readonly #options: RecoveryOptions;
  #left: readonly string[];
  /** Those that stay, of which the log was told: one line each, not one a try. */
  readonly #told = new Set<string>();
  #round: Promise<void>;
  #cancelNext: (() => void) | null = null;
  #isTrying = false;
  #isClosed = false;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    this.#left = options.spool.left;
    options.spool.onProblem = () => this.#await();
    this.#round = this.#tryAll();
  }

  /** Resolves when each of them was tried; the next round comes by itself. */
  get round(): Promise<void> {
    return this.#round;
  }

  /** What is not finished stays for the next start. Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelNext?.();
    await this.#round;
  }

  /** One after the other: a repair has a whole recording in memory. */
  async #tryAll(): Promise<void> {
    const { spool } = this.#options;
    const stay: string[] = [];
    this.#isTrying = true;
    for (const id of new Set([...this.#left, ...spool.unfinished.keys()]))
      if (this.#isClosed || !(await this.#isSettled(id))) stay.push(id);
    this.#left = stay;
    if (spool.isBroken && !this.#isClosed) spool.probe();
    this.#isTrying = false;
    if (stay.length > 0 || spool.unfinished.size > 0 || spool.isBroken) this.#await();
  }

  /** Tries again later, once, whatever happens until then. */
  #await(): void {
    if (this.#isTrying || this.#isClosed || this.#cancelNext !== null) return;
    this.#cancelNext = this.#options.clock.after(RECOVERY_RETRY_MS, () => {
      this.#cancelNext = null;
      this.#round = this.#tryAll();
    });
  }

  /** True: it is finished, or was removed. */
  async #isSettled(id: string): Promise<boolean> {
    const { spool, log } = this.#options;
    try {
      await this.#finish(id);
      return true;
    } catch (error) {
      const problem = systemProblem(error);
      if (error instanceof BeyondRepair) {
        spool.discard(id);
        log.warn({ recording: id, problem }, 'A recording of an SSH session is damaged beyond repair and was removed');
        return true;
      }
      if (!this.#told.has(id))
        log.warn({ recording: id, problem }, 'A recording of an SSH session was not finished; it is tried again');
      this.#told.add(id);
      return false;
    }
  }

  async #finish(id: string): Promise<void> {
    const { spool } = this.#options;
    const known = spool.unfinished.get(id);
    if (known?.truncated === false) return this.#store(known);
    const { sidecar: description, text } = spool.openFiles(id);
    const sidecar = await wholeOr('its description is damaged', async () =>
      parseSidecar(await readFile(description, 'utf8')),
    );
    const { durationMs, grownBytes } = await wholeOr('what it shows is damaged', () => repair(text));
    spool.grew(grownBytes);
    this.#store({ ...sidecar, duration_ms: durationMs, truncated: true });
  }

  #store(sidecar: RecordingSidecar): void {
    const { spool } = this.#options;
    if (!spool.finish(sidecar)) throw new Error(spool.problem ?? 'it could not be stored');
  }
}

/** Nothing can be made of this recording, however often it is tried. */
class BeyondRepair extends Error {}

/** Passes on what comes of the machine, which may be better at another time, and throws `BeyondRepair` for the rest. */
async function wholeOr<T>(problem: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new BeyondRepair('nothing of it was written');
    if (DAMAGES.has(code) || name === 'SyntaxError' || name === 'ZodError')
      throw new BeyondRepair(problem, { cause: error });
    throw error;
  }
}

/**
 * Makes a file that was cut anywhere whole again: what can be read of it, up to the last whole line. It is replaced in
 * one step, so that a repair that fails leaves what was there.
 */
async function repair(file: string): Promise<{ readonly durationMs: number; readonly grownBytes: number }> {
  const cut = await readFile(file);
  const text = await promisify(gunzip)(cut, {
    finishFlush: constants.Z_SYNC_FLUSH,
    maxOutputLength: TEXT_BYTES_MAX,
  });
  const lines = text.subarray(0, text.lastIndexOf('\n') + 1).toString('utf8');
  if (lines === '') throw new BeyondRepair('nothing of it was written');
  const last = JSON.parse(lines.slice(lines.lastIndexOf('\n', lines.length - 2) + 1)) as unknown;
  const whole = await promisify(gzip)(lines);
  await writeFile(`${file}.new`, whole, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return {
    durationMs: Array.isArray(last) && typeof last[0] === 'number' ? Math.round(last[0] * 1_000) : 0,
    grownBytes: whole.length - cut.length,
  };
}
