/**
 * A call between admins and its answer as JSON. What is read may have more fields than are known here: they are
 * dropped.
 */
import { z } from 'zod';
import type { RefusalCode } from '../../../actors/refusal.ts';
import type { PeerAnswer, PeerCall } from '../../../api/forwarding/ports.ts';
import { ClusterId, NodeId } from '../../protocol/ids.ts';

/** Longest names, ids and keys, in characters: far above what any version writes. */
const NAME_CHARS_MAX = 256;
const REQUEST_ID_CHARS_MAX = 256;
const KEY_CHARS_MAX = 1_024;

const Name = z.string().min(1).max(NAME_CHARS_MAX);

const Target = z.union([
  z.object({ kind: z.literal('node'), id: NodeId }),
  z.object({ kind: z.literal('cluster'), id: ClusterId }),
  z.object({ kind: z.literal('webhooks') }),
  z.object({ kind: z.literal('admin'), name: Name }),
]);

const Call = z.object({
  call_id: z.guid(),
  operation: Name,
  input: z.unknown(),
  target: Target,
  epoch: z.int(),
  principal: Name,
  surface: Name,
  request_id: z.string().max(REQUEST_ID_CHARS_MAX),
  traceparent: z.string().max(NAME_CHARS_MAX).nullable(),
  idempotency: z
    .object({
      scope: z.string().max(KEY_CHARS_MAX),
      key: z.string().max(KEY_CHARS_MAX),
      body_hash: z.string().max(NAME_CHARS_MAX),
    })
    .nullable(),
  remaining_ms: z.number().nonnegative(),
  attempt: z.int().positive(),
}) satisfies z.ZodType<PeerCall>;

/** Every code, at run time. Exhaustive: a new code does not compile until it has a row here. */
const KNOWN_CODES = {
  bad_request: true,
  unauthorized: true,
  forbidden: true,
  not_found: true,
  method_not_allowed: true,
  conflict: true,
  idempotency_conflict: true,
  payload_too_large: true,
  unsupported_media_type: true,
  validation_failed: true,
  rate_limited: true,
  service_unavailable: true,
  degraded_mode: true,
  invalid_key: true,
  key_expired: true,
  key_spent: true,
  node_limit_reached: true,
  internal_error: true,
} as const satisfies Record<RefusalCode, true>;

/** A code that only a newer admin knows reads as one that passes: whoever asked tries again later. */
const Code = z
  .string()
  .transform((code): RefusalCode => (Object.hasOwn(KNOWN_CODES, code) ? (code as RefusalCode) : 'service_unavailable'));

const Refused = z
  .object({
    code: Code,
    message: z.string(),
    details: z.record(z.string(), z.array(z.string())).optional(),
    retryAfterSeconds: z.number().nonnegative().optional(),
  })
  .transform(({ code, message, details, retryAfterSeconds }) => ({
    code,
    message,
    ...(details !== undefined && { details }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  }));

const Answered = z.union([
  z.object({ ok: z.literal(true), value: z.unknown() }),
  z.object({ ok: z.literal(false), refusal: Refused }),
]);

const Answer = z.discriminatedUnion('type', [
  z.object({ type: z.literal('answered'), result: Answered }),
  z.object({ type: z.literal('not_owner'), owner: z.guid().nullable(), epoch: z.int().nullable() }),
  z.object({ type: z.literal('busy') }),
  z.object({ type: z.literal('unknown_operation') }),
  z.object({ type: z.literal('in_doubt') }),
]) satisfies z.ZodType<PeerAnswer>;

/** A call as bytes. */
export function encodeCall(call: PeerCall): Buffer {
  return Buffer.from(JSON.stringify(call));
}

/** An answer as bytes. What only this admin is to know of a refusal stays here. */
export function encodeAnswer(answer: PeerAnswer): Buffer {
  if (answer.type !== 'answered' || answer.result.ok) return Buffer.from(JSON.stringify(answer));
  const { code, message, details, retryAfterSeconds } = answer.result.refusal;
  const refusal = { code, message, details, retryAfterSeconds };
  return Buffer.from(JSON.stringify({ type: 'answered', result: { ok: false, refusal } }));
}

/** The call in these bytes; null: none that is known here. */
export function decodeCall(bytes: Buffer): PeerCall | null {
  return read(Call, bytes);
}

/** The answer in these bytes; null: none that is known here. */
export function decodeAnswer(bytes: Buffer): PeerAnswer | null {
  return read(Answer, bytes);
}

function read<T>(schema: z.ZodType<T>, bytes: Buffer): T | null {
  try {
    const parsed = schema.safeParse(JSON.parse(bytes.toString('utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null; // no JSON
  }
}
