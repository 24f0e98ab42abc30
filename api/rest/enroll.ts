/**
 * Enrolment of agents: not in the catalogue, since the key in the body is the credential. Source:
 * docs/architecture/sessions.md.
 */
import type { FastifyInstance } from 'fastify';
import { admissionOf, KEY_REFUSALS, verifiedEvent } from '../../actors/cluster/enrollment.ts';
import { DatabaseUnavailable, NothingWritten } from '../../actors/ports.ts';
import type { EnrollmentKeyRecord } from '../../actors/records.ts';
import { IN_DOUBT, refuse, UNAVAILABLE, type Result } from '../../actors/refusal.ts';
import { decodeEnrollmentBlob, EnrollRequest, type EnrollAnswer } from '../../transport/protocol/enrollment.ts';
import { ENROLL_PATH } from '../../transport/protocol/version.ts';
import { IN_WORDS } from '../inputs/issue-words.ts';
import { admit, admitAgain, enroll_agent, presentedBy, type Applicant, type EnrollPorts } from '../enrolling.ts';
import type { ForwardedPart } from '../forwarding/forwarded-part.ts';
import { isJustBegun } from '../forwarding/deadline.ts';
import type { Forwarding } from '../forwarding/forwarding.ts';
import { withFreedCapacity } from '../forwarding/freed-capacity.ts';
import { detailsOf } from '../inputs/parse.ts';
import { rateLimited } from '../principals.ts';
import { createAddressLimiter, createWindowLimiter, type WindowLimiter } from '../../transport/net/window-limiter.ts';
import { sendData, sendRefusal } from './answers.ts';
import { createAgainLimiter, type AgainLimiter } from './enrolling-again.ts';
import { KEYLESS_BODY_BYTES_MAX } from './keyless-bodies.ts';
import { addressOf } from './requests.ts';

/**
 * Failed attempts of one address a minute that are looked into and leave an event; addresses remembered at once (L1,
 * L2).
 * Beyond it, keys that let nobody in get 429. Good keys are never hindered: a fleet may enrol from behind one address.
 */
const FAILURES_PER_MINUTE_MAX = 60;

/**
 * Events of attempts that let nobody in, over all addresses, in a minute: what strangers can fill the database with.
 * Beyond it those without a good key leave none, and those with one of no use, or for a full cluster, get 429.
 */
export const REFUSED_EVENTS_PER_MINUTE_MAX = 600;
const ADDRESSES_MAX = 10_000;
const MINUTE_MS = 60_000;

/**
 * A machine that was refused for a full cluster asks again for as long as that lasts, and is told so without an event
 * and without its cluster's actor for this, in ms; so many machines are remembered at once.
 */
export const FULL_TOLD_MS = 86_400_000;
const FULL_MACHINES_MAX = 10_000;

/** Refusals that tell a guesser something. */
const COUNTED: ReadonlySet<string> = new Set([
  'invalid_key',
  'key_expired',
  'key_spent',
  'node_limit_reached',
  'forbidden',
  'conflict',
  'validation_failed',
]);

/** Offers the enrolment route. */
export function registerEnrollment(
  app: FastifyInstance,
  ports: EnrollPorts,
  forwarding: Pick<Forwarding, 'deadline' | 'perform'>,
): void {
  const failures = createAddressLimiter(
    { perWindowMax: FAILURES_PER_MINUTE_MAX, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX },
    ports.clock,
  );
  const throttled = createAddressLimiter({ perWindowMax: 1, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX }, ports.clock);
  const told = createWindowLimiter(
    { perWindowMax: REFUSED_EVENTS_PER_MINUTE_MAX, windowMs: MINUTE_MS, keysMax: 1 },
    ports.clock,
  );
  const full = createWindowLimiter(
    { perWindowMax: 1, windowMs: FULL_TOLD_MS, keysMax: FULL_MACHINES_MAX },
    ports.clock,
  );

  const again = createAgainLimiter(ports.clock);

  app.post(ENROLL_PATH, { bodyLimit: KEYLESS_BODY_BYTES_MAX }, async (request, reply) => {
    const address = addressOf(request.raw);
    const result = await enroll(request.body, ports, {
      forwarding,
      requestId: request.id,
      waitMs: failures.waitMs(address),
      tell: () => tellRefused(ports),
      tellsMs: (isTold) => (isTold ? told.add(EVERYBODY) : told.waitMs(EVERYBODY)),
      isFirst: () => throttled.add(address) === 0,
      full,
      again,
      isHeard: () => request.raw.socket.writable,
    });
    if (result.ok) return sendData(reply, 201, result.value);
    if (COUNTED.has(result.refusal.code) && result !== STILL_FULL) failures.add(address);
    return sendRefusal(reply, result.refusal);
  });

  /** The event is all that is left of the attempt, and names nothing (docs/events.md). */
  async function tellRefused({ records, clock, newId }: EnrollPorts): Promise<void> {
    if (told.add(EVERYBODY) === 0) await records.publish(verifiedEvent(null, 'invalid_key', newId(), clock.nowMs()));
  }
}

const EVERYBODY = 'everybody';

/** How an attempt is treated. */
interface Treatment {
  readonly forwarding: Pick<Forwarding, 'deadline' | 'perform'>;
  readonly requestId: string;
  /** Above 0: this address failed too often, and only a key that lets it in is taken. */
  readonly waitMs: number;
  readonly tell: () => Promise<void>;
  /** 0 while events of refusals may be stored, else ms until then. Of one that another stores: it is counted. */
  readonly tellsMs: (isTold: boolean) => number;
  /**
   * Whether this is the first attempt of this address in the minute that is refused for that: it is told of, those that
   * follow are not.
   */
  readonly isFirst: () => boolean;
  /** Machines that were refused for a full cluster, by their node ids. */
  readonly full: WindowLimiter;
  /** Nodes that were enrolled again. */
  readonly again: AgainLimiter;
  /** Whether its client is still there for an answer. */
  readonly isHeard: () => boolean;
}

/** Of an attempt that nobody waits for any more. */
const LEFT = refuse('service_unavailable', 'The client left before it was let in.');

/** Of one that its cluster's actor has refused for that before. It leaves no event and is no failure of its address. */
const STILL_FULL = refuse('node_limit_reached', KEY_REFUSALS.node_limit_reached);

/** As `rateLimited`, where it was others. */
const MANY_REFUSED = 'Too many attempts to enrol were refused. Try again later.';

/** As `rateLimited`, of a machine that is let in each time. */
const ENROLLED_TOO_OFTEN = 'This machine has enrolled its node too often. Try again later.';

/** One attempt. */
async function enroll(body: unknown, ports: EnrollPorts, treatment: Treatment): Promise<Result<EnrollAnswer>> {
  const parsed = EnrollRequest.safeParse(body, IN_WORDS);
  if (!parsed.success)
    return refuse('validation_failed', 'Validation failed', detailsOf(parsed.error.issues, EnrollRequest));
  const request = parsed.data;
  const { reads, vault } = ports;
  let isAsked = false;

  try {
    const blob = decodeEnrollmentBlob(request.enrollment_key);
    const key = blob === null ? null : await reads.enrollmentKeyByNonce(vault.sha256(blob.nonce));
    if (key === null) return await turnedAway(null, treatment);
    // The node after the key: whoever sees that an earlier try of this machine has spent a use sees its node too.
    const existing = await reads.nodeForEnrollment(request.node_id);
    if (existing === null && (await isStillFull(request, key, ports, treatment.full))) return STILL_FULL;
    const admission = admissionOf({ key, existing, ...presentedBy(request, vault) });
    if (typeof admission === 'string') return await turnedAway(admission, treatment);
    // A machine that is known by its secret or by a recovery key is not held up for what others do beside it.
    const pauseMs = existing === null ? await uselessMs(key, ports, treatment) : 0;
    if (pauseMs > 0) return await heldUp(pauseMs, treatment);
    // It comes late, over a line that was dead or to an admin that stood still: its machine has tried again since, and
    // would lose the token that it got then.
    if (!treatment.isHeard()) return LEFT;
    const againMs = treatment.again.take(request.node_id, admission);
    if (againMs > 0) return { ok: false, refusal: { ...rateLimited(againMs), message: ENROLLED_TOO_OFTEN } };
    isAsked = true;
    return await letIn({ request, key, existing }, body, ports, treatment);
  } catch (error) {
    if (error instanceof DatabaseUnavailable)
      return { ok: false, refusal: isAsked && !(error instanceof NothingWritten) ? IN_DOUBT : UNAVAILABLE };
    throw error;
  }
}

/** One who shows no key, or not that the node of this id is its own, which is the `problem`. Its actor is not asked. */
async function turnedAway(problem: string | null, treatment: Treatment): Promise<Result<never>> {
  const { waitMs, tell } = treatment;
  if (waitMs > 0) return heldUp(waitMs, treatment);
  await tell();
  return problem === null ? refuse('invalid_key', KEY_REFUSALS.invalid_key) : refuse('conflict', problem);
}

/** One that would be refused, and is not looked into for so many ms. */
async function heldUp(pauseMs: number, { waitMs, tell, isFirst }: Treatment): Promise<Result<never>> {
  if (isFirst()) await tell();
  const refusal = rateLimited(pauseMs);
  return { ok: false, refusal: waitMs > 0 ? refusal : { ...refusal, message: MANY_REFUSED } };
}

/** Asks the owner of its cluster, with the `body` as it came. */
async function letIn(
  applicant: Applicant,
  body: unknown,
  ports: EnrollPorts,
  { forwarding, requestId, waitMs, tell, tellsMs, isFirst, full }: Treatment,
): Promise<Result<EnrollAnswer>> {
  const { request, key } = applicant;
  const deadline = forwarding.deadline();
  const asked = { idempotency: null, principal: 'agent', surface: 'agent', requestId, trace: null, deadline };
  const forward = <T>(part: ForwardedPart<T>): Promise<Result<T>> => forwarding.perform({ ...asked, ...part });
  const entering: ForwardedPart<EnrollAnswer> = {
    operation: enroll_agent.name,
    input: { cluster: key.cluster, request: body },
    // With its secret a machine is known again, and a second try spends no second use (E1).
    afterLoss: request.machine_secret == null ? null : 'again',
    ownedBy: () => ({ kind: 'cluster', id: key.cluster }),
    // After a wait for an owner an earlier try of this machine may be stored.
    handle: (_key, isRepeat) =>
      isRepeat || !isJustBegun(deadline.leftMs()) ? admitAgain(request, ports) : admit(applicant, ports),
  };
  const entered = () => Promise.resolve(key.cluster);
  const result = await withFreedCapacity(() => forward(entering), { entered, ports, forward, deadline });
  if (!result.ok && result.refusal.code === 'node_limit_reached') {
    tellsMs(true);
    full.add(request.node_id);
  }
  // The key was good, and let nobody in all the same: the id is another's, or the recovery key is none of it.
  if (!result.ok && result.refusal.code === 'conflict' && (waitMs === 0 || isFirst())) await tell();
  return result;
}

/**
 * 0: its cluster is to be asked. Else it would refuse, and an event of that is one too many: ms to wait. Whether a
 * cluster is full is looked at only then, so that a good key costs nothing more.
 */
async function uselessMs(
  key: EnrollmentKeyRecord,
  { reads, clock }: EnrollPorts,
  { waitMs, tellsMs }: Treatment,
): Promise<number> {
  if (isUsedUp(key, clock.nowMs())) return waitMs > 0 ? waitMs : tellsMs(true);
  const pauseMs = Math.max(waitMs, tellsMs(false));
  if (pauseMs === 0) return 0;
  return (await isFull(key, reads)) ? pauseMs : 0;
}

/** Whether this machine was refused for a full cluster, and would be again. One with a recovery key is no new node. */
async function isStillFull(
  request: EnrollRequest,
  key: EnrollmentKeyRecord,
  { reads, clock }: EnrollPorts,
  full: WindowLimiter,
): Promise<boolean> {
  if (full.waitMs(request.node_id) === 0 || request.recovery_key != null || isUsedUp(key, clock.nowMs())) return false;
  return isFull(key, reads);
}

async function isFull(key: EnrollmentKeyRecord, reads: EnrollPorts['reads']): Promise<boolean> {
  const cluster = await reads.get('clusters', key.clusterName);
  return cluster !== null && cluster.node_limit !== null && cluster.node_count >= cluster.node_limit;
}

/** Whether it lets no new node in. What really counts is decided by its cluster's actor. */
function isUsedUp(key: EnrollmentKeyRecord, nowMs: number): boolean {
  return key.usesRemaining === 0 || (key.expiredAtMs !== null && key.expiredAtMs <= nowMs);
}
