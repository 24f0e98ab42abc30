/** Uploads a report to an admin from time to time, so that there is a last one of a machine that went away unasked. */
import { DIAGNOSIS_PATH } from '../../../transport/protocol/diagnosis.ts';
import type { Diagnosis } from '../../../transport/protocol/diagnosis.ts';
import type { SessionClock } from '../../ports.ts';
import type { Log } from '../../../transport/net/log.ts';
import { postJson } from '../../session/post.ts';

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
  /** Sends it; over HTTP unless a test has its own. */
  readonly post?: typeof postJson;
}

/** The reports that this agent uploads. No method throws. */
export interface ReportUpload {
  /** A session with the admin at this URL is live. */
  connected(adminUrl: string): void;
  /** Uploads none any more. */
  close(): void;
}

/** None before the first session. */
export function createReportUpload({
  diagnose,
  uploaded,
  token,
  clock,
  random,
  log,
  post = postJson,
}: ReportUploadOptions): ReportUpload {
  let url: string | null = null;
  let cancel: (() => void) | null = null;
  let uploadedMs: number | null = null;
  let isUploading = false;
  let isClosed = false;

  function wait(ms: number): void {
    cancel?.();
    cancel = clock.after(ms, () => {
      cancel = null;
      void upload();
    });
  }

  async function upload(): Promise<void> {
    if (url === null || isUploading) return;
    isUploading = true;
    const status = await sent(url);
    isUploading = false;
    if (isClosed) return;
    uploaded?.();
    if (status === 204) uploadedMs = clock.nowMs();
    else log.debug({ status }, 'A diagnosis was not uploaded to the admin');
    if (status === 204 || UNKNOWN_THERE.has(status)) wait(between(NEXT_MS_MIN, NEXT_MS_MAX));
    else wait(between(FIRST_MS_MIN, FIRST_MS_MAX) * 2);
  }

  /** 0: no answer. */
  async function sent(adminUrl: string): Promise<number> {
    try {
      const target = new URL(adminUrl);
      target.pathname = target.pathname.replace(/\/+$/u, '') + DIAGNOSIS_PATH;
      return (await post(target.href, await diagnose(), { authorization: `Bearer ${token}` })).status;
    } catch {
      return 0;
    }
  }

  function between(min: number, max: number): number {
    return Math.round(min + (max - min) * random());
  }

  return {
    connected(adminUrl) {
      url = adminUrl;
      if (isClosed || isUploading) return;
      const restMs = uploadedMs === null ? 0 : Math.max(0, uploadedMs + REST_MS_MIN - clock.nowMs());
      wait(Math.max(restMs, between(FIRST_MS_MIN, FIRST_MS_MAX)));
    },
    close() {
      isClosed = true;
      cancel?.();
    },
  };
}
