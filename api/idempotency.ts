/**
 * Retried creates: the same Idempotency-Key and body get the first answer for 24 h; the same key with another body is
 * refused.
 */
import { hash } from 'node:crypto';
import type { Reads } from './ports.ts';
import type { Idempotency } from '../actors/node/messages.ts';
import { ok, refuse, type Result } from '../actors/refusal.ts';
import type { AnyOperation } from './operation.ts';
import type { Caller } from './principals.ts';
import type { Principal } from './surface.ts';

/** Idempotency-Key length, in characters. */
export const IDEMPOTENCY_KEY_CHARS_MAX = 255;

/** What a key may look like: 1 to 255 printable ASCII characters, not a space at either end, where HTTP drops it. */
export const IDEMPOTENCY_KEY = new RegExp(`^[!-~](?:[ -~]{0,${IDEMPOTENCY_KEY_CHARS_MAX - 2}}[!-~])?$`, 'u');

/** A create that is tried again under the same key is the same create: a call over tRPC or MCP may have no headers. */
export interface Keyed {
  readonly idempotency_key?: string;
}

/** The input without the key that stands in it, which is then the caller's. A header of the request says the same. */
export function keyed(
  operation: AnyOperation,
  input: unknown,
  caller: Caller,
): readonly [input: unknown, caller: Caller] {
  if (!operation.creates || typeof input !== 'object' || input === null || !('idempotency_key' in input))
    return [input, caller];
  const { idempotency_key: key, ...rest } = input;
  // one that is no text is refused as any other malformed key is
  return [rest, { ...caller, idempotencyKey: typeof key === 'string' ? key : '' }];
}

/**
 * Runs a create once a key. The answer is stored in the transaction of the create (C1), so a twin that runs at the same
 * time loses there, by its key or by the name it wants to take, and then gets the winner's answer.
 */
export async function answerOnce<T>(
  operation: AnyOperation,
  rawInput: unknown,
  principal: Principal,
  caller: Caller,
  reads: Reads,
  create: (idempotency: Idempotency | null) => Promise<Result<T>>,
): Promise<Result<T>> {
  const key = caller.idempotencyKey;
  if (!operation.creates || key === null) return create(null);
  if (!IDEMPOTENCY_KEY.test(key))
    return refuse('bad_request', 'Malformed Idempotency-Key', {
      'Idempotency-Key': [
        `must be 1 to ${IDEMPOTENCY_KEY_CHARS_MAX} printable ASCII characters, no space at either end`,
      ],
    });

  const idempotency: Idempotency = {
    scope: `${operation.name}:${ownerOf(principal, caller)}`,
    key,
    bodyHash: hash('sha256', canonical(rawInput ?? {}), 'hex'),
  };
  const earlier = await idempotencyRecord<T>(reads, idempotency);
  if (earlier !== null) return earlier;

  const result = await create(idempotency);
  if (result.ok || (result.refusal.code !== 'idempotency_conflict' && result.refusal.code !== 'conflict'))
    return result;
  return (await idempotencyRecord<T>(reads, idempotency)) ?? result;
}

/** Callers without a credential are told apart by address, or one could fetch another's answer with a guessed key. */
function ownerOf(principal: Principal, caller: Caller): string {
  return principal === 'anonymous' ? `anonymous@${caller.address}` : principal;
}

async function idempotencyRecord<T>(reads: Reads, { scope, key, bodyHash }: Idempotency): Promise<Result<T> | null> {
  const stored = await reads.idempotencyRecord(scope, key);
  if (stored === null) return null;
  return stored.bodyHash === bodyHash
    ? ok(stored.answer as T)
    : refuse('idempotency_conflict', 'This Idempotency-Key was used with another body.');
}

/** JSON with sorted keys: the order in which a client writes its fields does not matter. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
