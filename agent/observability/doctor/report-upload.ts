/** Uploads a report to an admin from time to time, so that there is a last one of a machine that went away unasked. */
import { DIAGNOSIS_PATH } from '../../../transport/protocol/diagnosis.ts';
import type { Diagnosis } from '../../../transport/protocol/diagnosis.ts';
import type { SessionClock } from '../../session/ports.ts';
import type { Log } from '../../../transport/net/log.ts';
import { postJson } from '../../outbound/http-exchange.ts';
import { DIRECT, type Outbound } from '../../outbound/outbound.ts';

/**
 * The first one follows a connection after this, in ms. The spread keeps a fleet that came back together from uploading
 * them together.
 */
const FIRST_MS_MIN = 60_000;
const FIRST_MS_MAX = 300_000;

/** The next ones follow after this, in ms. */
const NEXT_MS_MIN = 3 * 3_600_000;
const NEXT_MS_MAX = 6 * 3_600_000;

/** A machine that loses its admin often uploads no more than one report in this time, in ms. */
const REST_MS_MIN = 1_800_000;

/** An admin of an older version does not take reports. */
const UNKNOWN_THERE: ReadonlySet<number> = new Set([404, 405]);

/** What uploads need. */
export interface ReportUploadOptions {
  readonly diagnose: () => Promise<Diagnosis>;
  /** Called after each try, when the agent is idle again for hours. */
  readonly uploaded?: () => void;
  /** The API token of this node. */
  readonly token: string;
  readonly clock: SessionClock;
  /** Uniform in [0, 1), for the jitter. */
  readonly random: () => number;
  readonly log: Log;
  /** How it reaches admins; directly unless said otherwise. */
  readonly outbound?: Outbound;
  /** Sends it; over HTTP unless a test has its own. */
  readonly post?: typeof postJson;
}

/** The reports that this agent uploads: none before the first session. No method throws. */
export class ReportUpload {
  readonly #options: ReportUploadOptions;
  /** Of the admin whose session is live, or was last. */
  #url: string | null = null;
  #cancel: (() => void) | null = null;
  #uploadedMs: number | null = null;
  #isUploading = false;
  #isClosed = false;

  constructor(options: ReportUploadOptions) {
    this.#options = options;
  }

  /** A session with the admin at this URL is live. */
  connected(adminUrl: string): void {
    this.#url = adminUrl;
    if (this.#isClosed || this.#isUploading) return;
    const nowMs = this.#options.clock.nowMs();
    const restMs = this.#uploadedMs === null ? 0 : Math.max(0, this.#uploadedMs + REST_MS_MIN - nowMs);
    this.#wait(Math.max(restMs, this.#between(FIRST_MS_MIN, FIRST_MS_MAX)));
  }

  /** Uploads none any more. */
  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #wait(ms: number): void {
    this.#cancel?.();
    this.#cancel = this.#options.clock.after(ms, () => {
      this.#cancel = null;
      void this.#upload();
    });
  }

  async #upload(): Promise<void> {
    const { uploaded, clock, log } = this.#options;
    if (this.#url === null || this.#isUploading) return;
    this.#isUploading = true;
    const status = await this.#send(this.#url);
    this.#isUploading = false;
    if (this.#isClosed) return;
    uploaded?.();
    if (status === 204) this.#uploadedMs = clock.nowMs();
    else log.debug({ status }, 'A diagnosis was not uploaded to the admin');
    if (status === 204 || UNKNOWN_THERE.has(status)) this.#wait(this.#between(NEXT_MS_MIN, NEXT_MS_MAX));
    else this.#wait(this.#between(FIRST_MS_MIN, FIRST_MS_MAX) * 2);
  }

  /** The status of the answer; 0: there was none. */
  async #send(adminUrl: string): Promise<number> {
    const { diagnose, token, outbound = DIRECT, post = postJson } = this.#options;
    try {
      const target = new URL(adminUrl);
      target.pathname = target.pathname.replace(/\/+$/u, '') + DIAGNOSIS_PATH;
      const headers = { authorization: `Bearer ${token}` };
      return (await post(target.href, await diagnose(), { headers, agent: outbound.agentFor(target.href) })).status;
    } catch {
      return 0;
    }
  }

  #between(min: number, max: number): number {
    return Math.round(min + (max - min) * this.#options.random());
  }
}
