/**
 * What this admin does for others: an operation whose owner it is, of a client that was let in where it came in. It is
 * never handed on: whoever asked looks for the owner again.
 */
import type { Idempotency } from '../../actors/node/messages.ts';
import { monotonicMs } from '../../transport/net/clock.ts';
import type { Log } from '../../transport/net/log.ts';
import { failureOf } from '../call.ts';
import { askedInTime } from '../forwarding/deadline.ts';
import { IN_DOUBT } from '../forwarding/forwarded-call.ts';
import type { Forwarding } from '../forwarding/forwarding.ts';
import type { Owner, PeerAnswer, PeerCall, PeerCallHandler } from '../forwarding/ports.ts';
import type { AnyOperation } from '../operation.ts';
import { parse } from '../inputs/parse.ts';
import type { OperationPorts } from '../ports.ts';
import type { RequestRecord, RequestRecords } from '../request-record.ts';
import type { Principal, Surface } from '../surface.ts';

/**
 * A call whose caller has less time left when it is to be begun is not begun, in ms: its answer would come too late to
 * be told, as a commit on a busy database takes so long, and its client would hear that nobody knows whether it was
 * done.
 */
export const CALL_LEFT_MS_MIN = 100;

/** What it takes to do them. */
export interface PeerCallKit {
  /** By name: those of the catalogue, and those that only admins ask each other. */
  readonly operations: ReadonlyMap<string, AnyOperation>;
  readonly ports: OperationPorts;
  readonly forwarding: Pick<Forwarding, 'ownerOf' | 'counters'>;
  readonly records: RequestRecords;
  readonly log: Log;
  /** By which the caller's time is counted; that of this process unless given. */
  readonly monotonicMs?: () => number;
}

/** Does operations that other admins ask for, as far as this one is the owner. */
export function createPeerCallHandler(kit: PeerCallKit): PeerCallHandler {
  const nowMs = kit.monotonicMs ?? monotonicMs;
  return async (call) => {
    const beganMs = nowMs();
    const tookMs = (): number => nowMs() - beganMs;
    const answer = await answered(kit, call, () => call.remaining_ms - tookMs());
    kit.forwarding.counters.taken(answer.type, call.operation, outcomeOf(answer), tookMs());
    return answer;
  };
}

function outcomeOf(answer: PeerAnswer): string {
  return answer.type !== 'answered' || answer.result.ok ? 'ok' : answer.result.refusal.code;
}

async function answered(kit: PeerCallKit, call: PeerCall, leftMs: () => number): Promise<PeerAnswer> {
  const operation = kit.operations.get(call.operation);
  if (operation?.ownedBy === undefined) return { type: 'unknown_operation' };
  const { records, log } = kit;
  const record = records.begin(call.traceparent);
  record.isTaken = true;
  record.principal = principalOf(call.principal);
  const surface = surfaceOf(call.surface);
  try {
    const owner = await kit.forwarding.ownerOf(call.target);
    // What may have been done before was done under that epoch, or by another process: only its rows can say.
    if (owner.type !== 'here' || (call.attempt > 1 && owner.epoch !== call.epoch)) return notOwner(owner);
    // One that may have been done before is in doubt until it is done again: that is worth a try to the end.
    if (call.attempt === 1 && leftMs() < CALL_LEFT_MS_MIN) return { type: 'busy' };
    const answer = await records.within(record, () => done(kit, operation, call, { record, leftMs }));
    tell(answer);
    return answer;
  } catch (error) {
    const circumstances = {
      operation: operation.name,
      kind: operation.kind,
      surface,
      requestId: call.request_id,
      record,
    };
    const answer: PeerAnswer = {
      type: 'answered',
      result: { ok: false, refusal: failureOf(error, circumstances, log) },
    };
    tell(answer);
    return answer;
  }

  function tell(answer: PeerAnswer): void {
    if (answer.type !== 'answered') return;
    const code = answer.result.ok ? 'ok' : answer.result.refusal.code;
    records.ended(record, { requestId: call.request_id, operation: call.operation, surface, code });
  }
}

async function done(
  { ports }: PeerCallKit,
  operation: AnyOperation,
  call: PeerCall,
  { record, leftMs }: { readonly record: RequestRecord; readonly leftMs: () => number },
): Promise<PeerAnswer> {
  const input = parse(operation, call.input);
  if (!input.ok) return { type: 'answered', result: input };
  const handled = operation.handle(input.value, {
    ports,
    requestId: call.request_id,
    trace: record.isTraced ? record.context : null,
    idempotency: idempotencyOf(call),
    isRepeat: call.attempt > 1,
    forward: async (part) => part.handle(null, false), // one hop
  });
  // The deadline of whoever asked holds here, too: what takes longer goes on, and nobody waits for its answer.
  const result = await askedInTime(handled, Math.max(0, leftMs()), ports.clock);
  if (result === null) return { type: 'answered', result: { ok: false, refusal: IN_DOUBT } };
  if (!result.ok && result.refusal.notOwner === true) return { type: 'not_owner', owner: null, epoch: null };
  return { type: 'answered', result };
}

function notOwner(owner: Owner): PeerAnswer {
  if (owner.type === 'elsewhere') return { type: 'not_owner', owner: owner.admin, epoch: owner.epoch };
  return { type: 'not_owner', owner: null, epoch: owner.type === 'here' ? owner.epoch : null };
}

function idempotencyOf({ idempotency }: PeerCall): Idempotency | null {
  return idempotency === null
    ? null
    : { scope: idempotency.scope, key: idempotency.key, bodyHash: idempotency.body_hash };
}

const SURFACES: readonly Surface[] = ['rest', 'trpc', 'mcp'];

function surfaceOf(text: string): Surface | 'other' {
  return SURFACES.find((surface) => surface === text) ?? 'other';
}

const PRINCIPALS: readonly Principal[] = ['master', 'api', 'metrics', 'mcp', 'proxy', 'anonymous'];

/** Null: a word of another version. */
function principalOf(text: string): Principal | null {
  return PRINCIPALS.find((principal) => principal === text) ?? null;
}
