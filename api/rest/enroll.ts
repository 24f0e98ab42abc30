/**
 * Enrolment of agents: not in the catalogue, since the key in the body is the credential. Source: docs/architecture.md,
 * Sessions.
 */
import type { FastifyInstance } from 'fastify';
import { KEY_REFUSALS, verifiedEvent } from '../../actors/cluster/enrollment.ts';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { EnrollmentKeyRecord } from '../../actors/records.ts';
import { ok, refuse, UNAVAILABLE, type Result } from '../../actors/refusal.ts';
import { nodeProxyPassword } from '../../actors/sealed-columns.ts';
import {
  decodeEnrollmentBlob,
  recoveryKeySecret,
  EnrollRequest,
  type EnrollAnswer,
} from '../../transport/protocol/enrollment.ts';
import { ENROLL_PATH } from '../../transport/protocol/version.ts';
import { IN_WORDS } from '../issue-words.ts';
import type { OperationPorts } from '../ports.ts';
import { detailsOf } from '../parse.ts';
import { rateLimited } from '../principals.ts';
import { createAddressLimiter, createWindowLimiter } from '../../transport/net/window-limiter.ts';
import { sendData, sendRefusal } from './answers.ts';
import { addressOf } from './requests.ts';

/**
 * Failed attempts of one address a minute that are looked into and leave an event; addresses remembered at once (L1,
 * L2).
 * Beyond it, keys that let nobody in get 429. Good keys are never hindered: a fleet may enrol from behind one address.
 */
const FAILURES_PER_MINUTE_MAX = 60;

/**
 * Events of attempts that named no good key, over all addresses, in a minute: what strangers can fill the database
 * with.
 */
export const REFUSED_EVENTS_PER_MINUTE_MAX = 600;
const ADDRESSES_MAX = 10_000;
const MINUTE_MS = 60_000;

/** Refusals that tell a guesser something. */
const COUNTED: ReadonlySet<string> = new Set([
  'invalid_key',
  'key_expired',
  'key_spent',
  'forbidden',
  'conflict',
  'validation_failed',
]);

/** What enrolment needs of the outside. */
export type EnrollPorts = Pick<OperationPorts, 'ask' | 'reads' | 'records' | 'vault' | 'clock' | 'newId'>;

/** Offers the enrolment route. */
export function registerEnrollment(app: FastifyInstance, ports: EnrollPorts): void {
  const failures = createAddressLimiter(
    { perWindowMax: FAILURES_PER_MINUTE_MAX, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX },
    ports.clock,
  );
  const throttled = createAddressLimiter({ perWindowMax: 1, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX }, ports.clock);
  const told = createWindowLimiter(
    { perWindowMax: REFUSED_EVENTS_PER_MINUTE_MAX, windowMs: MINUTE_MS, keysMax: 1 },
    ports.clock,
  );

  app.post(ENROLL_PATH, async (request, reply) => {
    const address = addressOf(request.raw);
    const result = await enroll(request.body, ports, {
      waitMs: failures.waitMs(address),
      tell: () => tellRefused(ports),
      isFirst: () => throttled.add(address) === 0,
    });
    if (result.ok) return sendData(reply, 201, result.value);
    if (COUNTED.has(result.refusal.code)) failures.add(address);
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
  /** Above 0: this address failed too often, and only a key that lets it in is taken. */
  readonly waitMs: number;
  readonly tell: () => Promise<void>;
  /**
   * Whether this is the first attempt of this address in the minute that is refused for that: it is told of, those that
   * follow are not.
   */
  readonly isFirst: () => boolean;
}

/** One attempt. */
async function enroll(
  body: unknown,
  ports: EnrollPorts,
  { waitMs, tell, isFirst }: Treatment,
): Promise<Result<EnrollAnswer>> {
  const parsed = EnrollRequest.safeParse(body, IN_WORDS);
  if (!parsed.success) return refuse('validation_failed', 'Validation failed', detailsOf(parsed.error.issues));
  const request = parsed.data;
  const { reads, vault } = ports;

  try {
    const blob = decodeEnrollmentBlob(request.enrollment_key);
    const key = blob === null ? null : await reads.enrollmentKeyByNonce(vault.sha256(blob.nonce));
    // The node after the key: whoever sees that an earlier try of this machine has spent a use sees its node too.
    const existing = await reads.nodeForEnrollment(request.node_id);
    if (waitMs > 0 && (key === null || (existing === null && isUsedUp(key, ports.clock.nowMs())))) {
      if (isFirst()) await tell();
      return { ok: false, refusal: rateLimited(waitMs) };
    }
    if (key === null) {
      await tell();
      return refuse('invalid_key', KEY_REFUSALS.invalid_key);
    }

    const apiToken = vault.newSecret();
    const proxyPassword = vault.newSecret();
    const credentials = {
      apiToken,
      tokenHash: vault.sha256(apiToken),
      proxyPassword,
      sealedProxyPassword: vault.seal(proxyPassword, nodeProxyPassword(request.node_id)),
    };
    const recoveryKeyHash = request.recovery_key == null ? null : vault.sha256(recoveryKeySecret(request.recovery_key));
    const machineSecretHash = request.machine_secret == null ? null : vault.sha256(request.machine_secret);
    const aliasIds = (request.aliases ?? []).map(() => ports.newId());
    const result = await ports.ask<EnrollAnswer>((replyTo) => ({
      to: { kind: 'cluster', id: key.cluster },
      message: {
        type: 'enroll',
        replyTo,
        request,
        key,
        existing,
        recoveryKeyHash,
        machineSecretHash,
        credentials,
        aliasIds,
      },
    }));
    // The key was good, and let nobody in all the same: the id is another's, or the recovery key is none of it.
    if (!result.ok && result.refusal.code === 'conflict' && (waitMs === 0 || isFirst())) await tell();
    return result.ok ? ok(await withAliasesTaken(result.value, request.aliases ?? [], ports)) : result;
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return { ok: false, refusal: UNAVAILABLE };
    throw error;
  }
}

/** The answer with what the rows decided: which of the aliases other nodes have. */
async function withAliasesTaken(
  answer: EnrollAnswer,
  wanted: readonly string[],
  { reads }: Pick<EnrollPorts, 'reads'>,
): Promise<EnrollAnswer> {
  if (wanted.length === 0) return answer;
  const node = await reads.get('nodes', answer.node_id);
  const got = new Set(node?.aliases.map(({ name }) => name) ?? wanted);
  const taken = wanted.filter((name) => !got.has(name));
  return taken.length === 0 ? answer : { ...answer, aliases_taken: taken };
}

/** Whether it lets no new node in. What really counts is decided by its cluster's actor. */
function isUsedUp(key: EnrollmentKeyRecord, nowMs: number): boolean {
  return key.usesRemaining === 0 || (key.expiredAtMs !== null && key.expiredAtMs <= nowMs);
}
