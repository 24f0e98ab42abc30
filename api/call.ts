/**
 * The single path of every call on every surface: authenticate → authorise → parse → (idempotency) → ask or read →
 * result.
 */
import type { z } from 'zod';
import type { ListQuery } from '../actors/filters.ts';
import type { Idempotency } from '../actors/node/messages.ts';
import { DatabaseUnavailable, NothingWritten } from '../actors/ports.ts';
import type { Log } from '../transport/net/log.ts';
import { IN_DOUBT, ok, UNAVAILABLE, refuse, type Refusal, type Result } from '../actors/refusal.ts';
import { answerOnce } from './idempotency.ts';
import { createAddressLimits, type AddressLimits } from './keyless-limits.ts';
import type { ForwardedPart } from './forwarding/forwarded-part.ts';
import type { Forwarding } from './forwarding/forwarding.ts';
import { codeOf } from './metrics/request-times.ts';
import { withFreedCapacity } from './forwarding/freed-capacity.ts';
import { listing, type Listing, type PageOf } from './listing.ts';
import { parse } from './inputs/parse.ts';
import { HTTP_STATUS } from './rest/answers.ts';
import type { AnyOperation } from './operation.ts';
import type { Caller, Gate } from './principals.ts';
import type { RequestRecord, RequestRecords } from './request-record.ts';
import type { Surface } from './surface.ts';
import type { OperationPorts } from './ports.ts';

/** What clients get: a listing for lists, else the resource (null where REST answers 204). */
export type Answer<O extends AnyOperation> = O['list'] extends true
  ? Listing<z.output<O['output']>>
  : z.output<O['output']>;

/**
 * Calls an operation with what the client sent. Never throws: bugs are logged under the request id and refused as
 * `internal_error`.
 */
export type CallOperation = <O extends AnyOperation>(
  operation: O,
  rawInput: unknown,
  caller: Caller,
) => Promise<Result<Answer<O>>>;

/** What stands around every call. */
export interface CallKit {
  readonly ports: OperationPorts;
  readonly gate: Gate;
  readonly log: Log;
  readonly records: RequestRecords;
  readonly forwarding: Forwarding;
}

/** The one way in. Calls over REST are timed with their request, others here. */
export function createCall(kit: CallKit): CallOperation {
  const call = untimedCall(kit);
  const {
    records,
    ports: {
      adminMetrics: { requests },
    },
  } = kit;
  return async <O extends AnyOperation>(operation: O, rawInput: unknown, caller: Caller) => {
    const beganMs = performance.now();
    const record = records.take(caller.record);
    const result = await records.within(record, () => call(operation, rawInput, { ...caller, record }));
    records.ended(record, {
      requestId: caller.requestId,
      operation: operation.name,
      surface: caller.surface,
      code: result.ok ? 'ok' : result.refusal.code,
    });
    if (caller.surface !== 'rest')
      requests.observe(
        caller.surface,
        operation.name,
        result.ok ? '2xx' : codeOf(HTTP_STATUS[result.refusal.code]),
        performance.now() - beganMs,
      );
    return result;
  };
}

function untimedCall({ ports, gate, log, forwarding }: CallKit): CallOperation {
  const limits = createAddressLimits(ports.clock);
  const limited = limitsOf(ports, limits);
  return async <O extends AnyOperation>(operation: O, rawInput: unknown, caller: Caller) => {
    const admitted = caller.principal === undefined ? gate.admit(operation.scope, caller) : ok(caller.principal);
    if (!admitted.ok) return admitted;
    if (caller.record !== undefined) caller.record.principal = admitted.value;

    const input = parse(operation, rawInput);
    if (!input.ok) return input;
    const flooded = limits.ask(operation, caller);
    if (flooded !== null) return { ok: false, refusal: flooded };
    try {
      const { requestId, surface, record } = caller;
      const trace = record?.isTraced === true ? record.context : null;
      const deadline = forwarding.deadline();
      const asked = { principal: admitted.value, surface, requestId, trace, deadline };
      const forward = <T>(part: ForwardedPart<T>): Promise<Result<T>> =>
        forwarding.perform({ ...asked, ...part, idempotency: null });
      const perform = (idempotency: Idempotency | null): Promise<Result<unknown>> =>
        forwarding.perform<unknown>({
          ...asked,
          operation: operation.name,
          input: rawInput ?? {},
          afterLoss: operation.afterLoss,
          idempotency,
          ownedBy: operation.ownedBy === undefined ? null : () => operation.ownedBy?.(input.value, ports) ?? null,
          handle: (key, isRepeat) =>
            operation.handle(input.value, { ports, requestId, trace, idempotency: key, isRepeat, forward }),
        });
      const entered = async () => (await operation.enters?.(input.value, ports)) ?? null;
      const handled = await answerOnce(operation, rawInput, admitted.value, caller, ports.reads, (idempotency) =>
        limited(operation, caller, () =>
          withFreedCapacity(() => perform(idempotency), { entered, ports, forward, deadline }),
        ),
      );
      return (
        handled.ok && operation.list ? ok(listing(handled.value as PageOf, input.value as ListQuery)) : handled
      ) as Result<Answer<O>>;
    } catch (error) {
      const { requestId, surface, record } = caller;
      const circumstances = { operation: operation.name, kind: operation.kind, surface, requestId, record };
      return { ok: false, refusal: failureOf(error, circumstances, log) };
    }
  };
}

/**
 * Refuses what does more than the fleet has room for, or more often than its caller may. What does nothing is not
 * counted; a retried create that has its answer already does not come here.
 */
function limitsOf(ports: Pick<OperationPorts, 'standing'>, limits: AddressLimits) {
  return async <T>(operation: AnyOperation, caller: Caller, perform: () => Promise<Result<T>>): Promise<Result<T>> => {
    if (operation.needsCapacity && ports.standing().kind === 'overfull') return DEGRADED;
    const busy = limits.begin(operation, caller);
    if (busy !== null) return { ok: false, refusal: busy };
    let isDone = false;
    try {
      const done = await perform();
      isDone = done.ok;
      return done;
    } finally {
      if (!isDone) limits.takeBack(operation, caller);
    }
  };
}

/** Where something went wrong. */
export interface Circumstances {
  readonly operation: string;
  /** What only reads leaves nothing open. */
  readonly kind: AnyOperation['kind'];
  readonly surface: Surface | 'other';
  readonly requestId: string;
  readonly record: RequestRecord | undefined;
}

/** What is said of an error: that the database is away, or that it is a bug, whose cause is logged. */
export function failureOf(error: unknown, circumstances: Circumstances, log: Log): Refusal {
  const { operation, kind, surface, requestId, record } = circumstances;
  if (error instanceof DatabaseUnavailable)
    return kind === 'query' || error instanceof NothingWritten ? UNAVAILABLE : IN_DOUBT;
  log.error(
    {
      error,
      operation,
      surface,
      request_id: requestId,
      ...(record !== undefined && { trace_id: record.context.traceId }),
    },
    'an operation failed',
  );
  return INTERNAL_ERROR;
}

const DEGRADED = refuse(
  'degraded_mode',
  'There are more nodes than the admins have room for. Add an admin or raise ADMIN_MAX_WIREGUARD_PEERS; running commands goes on.',
);

/** A bug. Its cause is in the log under the request id and nowhere else. */
export const INTERNAL_ERROR: Refusal = refuse(
  'internal_error',
  'Something went wrong here. The log has it under the request id.',
).refusal;
