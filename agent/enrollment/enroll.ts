/** Joins a cluster: posts to the admins in order until one says yes, or no for good. */
import { z } from 'zod';
import { EnrollAnswer, FITS_NO_NODE } from '../../transport/protocol/enrollment.ts';
import type { EnrollRequest } from '../../transport/protocol/enrollment.ts';
import { ENROLL_PATH } from '../../transport/protocol/version.ts';
import { reconnectDelayMs } from '../session/backoff.ts';
import type { HttpAnswer } from '../outbound/http-exchange.ts';
import type { Log } from '../../transport/net/log.ts';
import { AgentProblem, EXIT_STATUS } from '../problem.ts';

/** Statuses after which the same request may succeed later: overload, and everything from 500 on. */
const RETRIED = new Set([408, 425, 429]);

const Envelope = z.object({ data: EnrollAnswer });
const ErrorEnvelope = z.object({ error: z.object({ code: z.string().max(64), message: z.string().max(512) }) });

/** The refusal of a cluster that has no room for another node: somebody may make some, so that no agent ends for it. */
const FULL = 'node_limit_reached';

/**
 * A full cluster is asked again after this at most, in ms, twice as long after each further time, up to FULL_MS_MAX,
 * and after half of that at least: many machines may wait at it, for days.
 */
export const FULL_AGAIN_MS = 300_000;
export const FULL_MS_MAX = 3_600_000;

/** What the refusals of a key mean. Source: docs/architecture/sessions.md. */
const KEY_REFUSALS: Readonly<Record<string, string>> = {
  invalid_key: 'ENROLLMENT_KEY is not known to the admin, or RECOVERY_KEY does not fit: make a new key',
  key_expired: 'ENROLLMENT_KEY has expired: make a new key',
  key_spent: 'ENROLLMENT_KEY has no uses left: make a new key',
  [FULL]: 'the cluster has reached its node limit: raise it or remove a node',
};

/** What enrolment needs. */
export interface EnrollmentOptions {
  readonly request: z.input<typeof EnrollRequest>;
  readonly adminUrls: readonly string[];
  readonly log: Log;
  readonly random: () => number;
  /** Waits; rejects when the agent is told to stop. */
  readonly sleep: (ms: number) => Promise<void>;
  readonly post: (url: string, body: unknown) => Promise<HttpAnswer>;
}

/** Who let this machine in, and what it said. */
export interface Enrolment {
  /** As it was given. */
  readonly adminUrl: string;
  readonly answer: EnrollAnswer;
}

/**
 * The admin's answer. Tries for ever while no admin can be reached, and while one says that the cluster is full; throws
 * an `AgentProblem` on a refusal that will not change, once each of the admins was asked.
 */
export async function enroll(options: EnrollmentOptions): Promise<Enrolment> {
  const { adminUrls, log, random, sleep, request, post } = options;
  // An admin at which many wait says 429 to most of them, which takes nothing back of what it said before.
  const full = new Set<string>();
  let fullRounds = 0;
  for (let round = 0; ; round += 1) {
    const refusals: { readonly admin: string; readonly problem: string }[] = [];
    for (const adminUrl of adminUrls) {
      const answer = await attempt(adminUrl, request, post);
      if (!('problem' in answer)) return { adminUrl, answer };
      const said = { admin: adminUrl, problem: answer.problem };
      if (answer.isFinal) refusals.push(said);
      else log.warn(said, 'Enrolment did not succeed; it is tried again');
      if (answer.isFull === true) full.add(adminUrl);
      else if (answer.isFinal) full.delete(adminUrl);
    }
    const [refusal] = refusals;
    if (refusal !== undefined && full.size === 0)
      throw new AgentProblem(`Enrolment was refused by ${refusal.admin}: ${refusal.problem}`, EXIT_STATUS.refused);
    for (const said of refusals)
      log.warn(said, 'Enrolment was refused; it is tried again, as another admin says that the cluster is full');
    fullRounds = full.size === 0 ? 0 : fullRounds + 1;
    await sleep(fullRounds > 0 ? fullDelayMs(fullRounds, random()) : reconnectDelayMs(round, random()));
  }
}

/** After so many rounds in which the cluster was full. `random` is in [0, 1). */
function fullDelayMs(rounds: number, random: number): number {
  const longestMs = Math.min(FULL_MS_MAX, FULL_AGAIN_MS * 2 ** Math.min(rounds - 1, 32));
  return Math.ceil(longestMs * (0.5 + random / 2));
}

/**
 * Asks each admin once, and once more without the recovery key where that fits no node: the machine is enrolled, so the
 * key did its work, and the database there is of before. The answer of the first that says yes; else the last problem,
 * as the end of a sentence.
 */
export async function enrollOnce({
  adminUrls,
  request,
  post,
}: Pick<EnrollmentOptions, 'adminUrls' | 'request' | 'post'>): Promise<Enrolment | string> {
  let problem = 'no admin is known';
  for (const adminUrl of adminUrls) {
    let answer = await attempt(adminUrl, request, post);
    if ('problem' in answer && answer.fitsNoNode === true)
      answer = await attempt(adminUrl, { ...request, recovery_key: null }, post);
    if (!('problem' in answer)) return { adminUrl, answer };
    problem = answer.problem;
  }
  return problem;
}

/** What was wrong. */
interface Failure {
  readonly problem: string;
  /** Whether the same request can never succeed. */
  readonly isFinal: boolean;
  /** Whether the cluster of the key is full. */
  readonly isFull?: boolean;
  /** Whether that is for its recovery key, whose node the admin does not know. */
  readonly fitsNoNode?: boolean;
}

/** One try at one admin. */
async function attempt(
  adminUrl: string,
  request: unknown,
  post: EnrollmentOptions['post'],
): Promise<EnrollAnswer | Failure> {
  let answer: HttpAnswer;
  try {
    answer = await post(enrollUrl(adminUrl), request);
  } catch (error) {
    return { problem: (error as Error).message, isFinal: false };
  }
  if (answer.status === 200 || answer.status === 201) {
    const parsed = Envelope.or(EnrollAnswer.transform((data) => ({ data }))).safeParse(answer.body);
    return parsed.success ? parsed.data.data : { problem: 'the answer is not one of this protocol', isFinal: false };
  }
  if (answer.status >= 500 || RETRIED.has(answer.status)) return { problem: passingText(answer), isFinal: false };
  return refusalOf(answer);
}

/** Why it may be let in later: an admin that has no room says so. */
function passingText({ status, body }: HttpAnswer): string {
  const parsed = ErrorEnvelope.safeParse(body);
  return parsed.success ? `it answered ${status}: ${parsed.data.error.message}` : `it answered ${status}`;
}

function refusalOf(answer: HttpAnswer): Failure {
  const parsed = ErrorEnvelope.safeParse(answer.body);
  if (!parsed.success)
    return {
      problem: `it answered ${answer.status}, which is no answer of an admin: check ADMIN_URLS`,
      isFinal: false, // a gateway that has lost its admins, a captive portal: as a 200 of theirs, it may pass
    };
  const { code, message } = parsed.data.error;
  return {
    problem: KEY_REFUSALS[code] ?? `${code}: ${message}`,
    isFinal: code !== FULL,
    isFull: code === FULL,
    fitsNoNode: message === FITS_NO_NODE,
  };
}

function enrollUrl(adminUrl: string): string {
  const url = new URL(adminUrl);
  url.pathname = url.pathname.replace(/\/+$/, '') + ENROLL_PATH;
  return url.href;
}
