/**
 * What the updater of this machine watches while a new version has to prove itself: a file that says how the agent is,
 * so that it can be read where no port answers. Source: docs/architecture/self-updates.md.
 */
import type { Log } from '../../transport/net/log.ts';
import { replaceFile } from '../durable-file.ts';
import type { Service } from '../observability/health.ts';
import { systemProblem } from '../problem.ts';
import { removeFile } from '../removal.ts';
import type { Session } from '../session/session.ts';

/** Written at least this often, in ms: the updater takes an agent whose file is older for one that hangs. */
export const HEALTH_WRITE_MS = 5_000;

/** Of what is wrong, so many sentences of so many characters are written. */
const PROBLEMS_MAX = 32;
const PROBLEM_CHARS_MAX = 512;

/** The file. Times are Unix time in ms; null while there is none. */
export interface HealthFileContent {
  readonly pid: number;
  readonly version: string;
  readonly started_at: number;
  /** Since when the session of now is live. */
  readonly connected_since: number | null;
  readonly services_ok: boolean;
  /** What is wrong with services, as in the health report. */
  readonly problems: readonly string[];
  /** When an admin was heard last. */
  readonly last_answer_at: number | null;
}

/** What it is made of. */
export interface HealthFileOptions {
  readonly path: string;
  readonly version: string;
  readonly services: () => readonly Service[];
  /** Null before there is one. Its `heardMs` are on the clock of `nowMs`. */
  readonly session: () => Pick<Session, 'isLive' | 'heardMs'> | null;
  /** Sessions that became live so far: another one may have begun between two looks. */
  readonly welcomes: () => number;
  /** In ms, never set back. */
  readonly nowMs: () => number;
  /** Unix time, in ms. */
  readonly wallMs?: () => number;
  readonly log: Log;
}

/** No method throws. */
export class HealthFile {
  readonly #options: HealthFileOptions;
  readonly #wallMs: () => number;
  readonly #startedAt: number;
  #connectedSince: number | null = null;
  #welcomes = 0;
  #heardMs: number | null = null;
  /** When it was written last. */
  #writtenMs = Number.NEGATIVE_INFINITY;
  #hasFailed = false;

  constructor(options: HealthFileOptions) {
    this.#options = options;
    this.#wallMs = options.wallMs ?? Date.now;
    this.#startedAt = Math.round(this.#wallMs() - process.uptime() * 1_000);
  }

  /** To be called every second. Writes when the session changed, and when it is time: what services say costs more. */
  look(): void {
    const { session, nowMs } = this.#options;
    const { isLive, heardMs } = session() ?? { isLive: false, heardMs: null };
    const hasChanged = this.#follow(isLive);
    this.#heardMs = heardMs ?? this.#heardMs;
    // a timer that is a little early must not make it twice as long
    const isTime = nowMs() - this.#writtenMs > HEALTH_WRITE_MS - 500;
    if (hasChanged || isTime) this.#write();
  }

  /** A clean stop: nobody is to take what it says for the state of an agent that runs. */
  close(): void {
    removeFile(this.#options.path);
  }

  #follow(isLive: boolean): boolean {
    const { welcomes } = this.#options;
    const isNew = isLive && (this.#connectedSince === null || this.#welcomes !== welcomes());
    const isLost = !isLive && this.#connectedSince !== null;
    if (isNew) this.#connectedSince = Math.round(this.#wallMs());
    else if (isLost) this.#connectedSince = null;
    this.#welcomes = welcomes();
    return isNew || isLost;
  }

  #write(): void {
    const { path, log, nowMs } = this.#options;
    this.#writtenMs = nowMs();
    try {
      replaceFile(path, `${JSON.stringify(this.#content())}\n`);
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed)
        log.warn({ problem: systemProblem(error) }, 'How the agent is cannot be written for its updater');
      this.#hasFailed = true;
    }
  }

  #content(): HealthFileContent {
    const { version, services, nowMs } = this.#options;
    const problems = services()
      .map(({ name, problem }) => ({ name, problem: problem() }))
      .filter(({ problem }) => problem !== null)
      .map(({ name, problem }) => `${name}: ${problem}`.slice(0, PROBLEM_CHARS_MAX));
    return {
      pid: process.pid,
      version,
      started_at: this.#startedAt,
      connected_since: this.#connectedSince,
      services_ok: problems.length === 0,
      problems: problems.slice(0, PROBLEMS_MAX),
      // told by the wall clock of now, as whoever reads it has the same
      last_answer_at: this.#heardMs === null ? null : Math.round(this.#wallMs() - (nowMs() - this.#heardMs)),
    };
  }
}
