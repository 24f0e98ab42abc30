/** Brings a report to an admin from time to time, so that there is a last one of a machine that went away unasked. */
import { DIAGNOSIS_PATH } from '../../../transport/protocol/diagnosis.ts';
import type { Diagnosis } from '../../../transport/protocol/diagnosis.ts';
import type { SessionClock } from '../../ports.ts';
import type { Log } from '../../../transport/net/log.ts';
import { postJson } from '../../session/post.ts';

/**
 * The first one follows a connection after this, in ms. The spread keeps a fleet that came back together from bringing
 * them together.
 */
const FIRST_MS_MIN = 60_000;
const FIRST_MS_MAX = 300_000;

/** The next ones follow after this, in ms. */
const NEXT_MS_MIN = 3 * 3_600_000;
const NEXT_MS_MAX = 6 * 3_600_000;

/** A machine that loses its admin often brings no more than one report in this time, in ms. */
const REST_MS_MIN = 1_800_000;

/** An admin of an older version does not take reports. */
const UNKNOWN_THERE: ReadonlySet<number> = new Set([404, 405]);

/** What bringing needs. */
export interface BringingOptions {
  readonly diagnose: () => Promise<Diagnosis>;
  /** Called after each try, when the agent is idle again for hours. */
  readonly brought?: () => void;
  /** The API token of this node. */
  readonly token: string;
  readonly clock: SessionClock;
  /** Uniform in [0, 1), for the jitter. */
  readonly random: () => number;
  readonly log: Log;
  /** Sends it; over HTTP unless a test has its own. */
  readonly post?: typeof postJson;
}

/** The reports that this agent brings. No method throws. */
export interface Bringing {
  /** A session with the admin at this URL is live. */
  connected(adminUrl: string): void;
  /** Brings none any more. */
  close(): void;
}

/** None before the first session. */
export function createBringing({
  diagnose,
  brought,
  token,
  clock,
  random,
  log,
  post = postJson,
}: BringingOptions): Bringing {
  let url: string | null = null;
  let cancel: (() => void) | null = null;
  let broughtMs: number | null = null;
  let isBringing = false;
  let isClosed = false;

  function wait(ms: number): void {
    cancel?.();
    cancel = clock.after(ms, () => {
      cancel = null;
      void bring();
    });
  }

  async function bring(): Promise<void> {
    if (url === null || isBringing) return;
    isBringing = true;
    const status = await sent(url);
    isBringing = false;
    if (isClosed) return;
    brought?.();
    if (status === 204) broughtMs = clock.nowMs();
    else log.debug({ status }, 'A diagnosis was not brought to the admin');
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
      if (isClosed || isBringing) return;
      const restMs = broughtMs === null ? 0 : Math.max(0, broughtMs + REST_MS_MIN - clock.nowMs());
      wait(Math.max(restMs, between(FIRST_MS_MIN, FIRST_MS_MAX)));
    },
    close() {
      isClosed = true;
      cancel?.();
    },
  };
}
