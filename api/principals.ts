/** Who calls, by bearer key, and what that reaches. */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../actors/ports.ts';
import { ok, refuse, type Refusal, type Result } from '../actors/refusal.ts';
import { createAddressLimiter } from '../transport/net/window-limiter.ts';
import type { RequestRecord } from './request-record.ts';
import type { Principal, Scope, Surface } from './surface.ts';
import { FOREIGN_HOST, type WebPages } from './origins.ts';

/** One call's circumstances. */
export interface Caller {
  readonly surface: Surface;
  /** The bearer token as sent; null when there was none. */
  readonly credential: string | null;
  /** Remote address: failed authentication is counted by it. */
  readonly address: string;
  /** The Host header. */
  readonly host: string | undefined;
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  /** Set by a surface that already had the gate let this caller in to this very operation: it is not asked again. */
  readonly principal?: Principal;
  /** Whose session of the console it is: then no key is looked for, and whatever is shown as one counts for nothing. */
  readonly signedIn?: Principal;
  /** Its place in a trace, and what is learnt of it. Without one it begins a trace of its own. */
  readonly record?: RequestRecord;
}

/** Whose keys reach the API. */
export type ApiPrincipal = Extract<Principal, 'master' | 'api'>;

/** Whose keys there are. */
type KeyPrincipal = Exclude<Principal, 'anonymous'>;

/** Keys and enforcement flags, as in the settings of the same names. */
export interface GateSettings {
  readonly masterKey: string;
  readonly apiKey: string;
  readonly metricsKey: string;
  readonly mcpKey: string;
  readonly proxyKey: string;
  /** Keys of before, while they are rotated: each lets in as the present one of its kind does. */
  readonly formerKeys?: readonly { readonly principal: KeyPrincipal; readonly key: string }[];
  readonly apiAuthEnabled: boolean;
  readonly metricsAuthEnabled: boolean;
  readonly mcpAuthEnabled: boolean;
  readonly failuresPerMinuteMax: number;
}

/** Lets callers in, or says why not. */
export interface Gate {
  /**
   * 401 `unauthorized`: no credential, or a wrong one. 403 `forbidden`: a valid one whose scope does not reach here, or
   * no key is asked for and the caller uses a name that is not this admin's (origins.ts).
   * 429 `rate_limited`: one more wrong credential from an address that showed too many. A right one always gets in:
   * else whoever shares an address, or stands behind the same load balancer, could lock the operator out.
   */
  admit(scope: Scope, caller: Caller): Result<Principal>;
  /**
   * Whose key it is, whatever it reaches, without counting a wrong one; `anonymous` where the API asks for none; null:
   * it is no key.
   */
  identify(caller: Caller): Principal | null;
  /** Shows later that this key was known here, over something that is bound to it. It tells nothing of the key. */
  prove(credential: string, bound: Uint8Array): Uint8Array;
  /** Whose key that was which reaches the API, the farthest first; none: it is no key here, or no more. */
  proven(proof: Uint8Array, bound: Uint8Array): readonly ApiPrincipal[];
}

/** Addresses whose failures are remembered at once; the oldest is forgotten first (L2). */
const ADDRESSES_MAX = 10_000;

const MINUTE_MS = 60_000;

/** A gate with these keys. Keys are compared in constant time, as hashes (E3). */
export function createGate(settings: GateSettings, clock: Clock, { isOwnHost }: Pick<WebPages, 'isOwnHost'>): Gate {
  const keys = keysOf(settings);
  const failures = createAddressLimiter(
    { perWindowMax: settings.failuresPerMinuteMax, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX },
    clock,
  );

  /** All keys of this text: several settings may hold the same one. Every key is compared, found or not. */
  const identify = (credential: string): readonly Principal[] => {
    const given = digest(credential);
    return keys.filter(({ hash }) => timingSafeEqual(hash, given)).map(({ principal }) => principal);
  };

  return {
    admit(scope, caller) {
      if (scope === 'public' || !isEnforced(settings, scope, caller.surface))
        return isOwnHost(caller.host) ? ok('anonymous') : FOREIGN_HOST;
      if (caller.signedIn !== undefined)
        return reaches(caller.signedIn, scope, caller.surface) ? ok(caller.signedIn) : FORBIDDEN;
      if (caller.credential === null) return UNAUTHORIZED;

      const principals = identify(caller.credential);
      const [first] = principals;
      if (first === undefined) {
        const waitMs = failures.add(caller.address);
        return waitMs === 0 ? UNAUTHORIZED : { ok: false, refusal: rateLimited(waitMs) };
      }
      const admitted = principals.find((principal) => reaches(principal, scope, caller.surface));
      return admitted === undefined ? FORBIDDEN : ok(admitted);
    },
    identify(caller) {
      if (caller.signedIn !== undefined) return caller.signedIn;
      const [first = null] = caller.credential === null ? [] : identify(caller.credential);
      return first ?? (isEnforced(settings, 'api', caller.surface) || !isOwnHost(caller.host) ? null : 'anonymous');
    },
    prove: (credential, bound) => proofOf(digest(credential), bound),
    proven: proverOf(keys),
  };
}

/** `Gate.proven` of these keys alone, for who lets nobody in. */
export function createProver(settings: GateSettings): Gate['proven'] {
  return proverOf(keysOf(settings));
}

/** A key that is known here, by its hash. */
interface KnownKey {
  readonly principal: KeyPrincipal;
  readonly hash: Buffer;
}

function keysOf({ masterKey, apiKey, metricsKey, mcpKey, proxyKey, formerKeys = [] }: GateSettings): KnownKey[] {
  return [
    { principal: 'master' as const, key: masterKey },
    { principal: 'api' as const, key: apiKey },
    { principal: 'metrics' as const, key: metricsKey },
    { principal: 'mcp' as const, key: mcpKey },
    { principal: 'proxy' as const, key: proxyKey },
    ...formerKeys,
  ].map(({ principal, key }) => ({ principal, hash: digest(key) }));
}

function proverOf(keys: readonly KnownKey[]): Gate['proven'] {
  return (proof, bound) =>
    keys
      .filter(({ hash }) => isSame(proofOf(hash, bound), proof))
      .map(({ principal }) => principal)
      .filter((principal) => principal === 'master' || principal === 'api');
}

/** Keyed by the hash of the key, so that keys need not be kept as they are. */
function proofOf(keyHash: Buffer, bound: Uint8Array): Buffer {
  return createHmac('sha256', keyHash).update('edge console session\0').update(bound).digest();
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

const UNAUTHORIZED = refuse('unauthorized', 'A valid credential is needed: Authorization: Bearer KEY.');
const FORBIDDEN = refuse('forbidden', 'This credential does not reach here.');

/** Too many, with the wait in whole seconds. */
export function rateLimited(waitMs: number): Refusal {
  return {
    code: 'rate_limited',
    message: 'Too many failed attempts from this address.',
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
  };
}

function reaches(principal: Principal, scope: Scope, surface: Surface): boolean {
  if (principal === 'master') return true;
  if (surface === 'mcp') return principal === 'mcp';
  return scope === 'metrics' ? principal === 'metrics' : principal === 'api';
}

function isEnforced(settings: GateSettings, scope: Scope, surface: Surface): boolean {
  if (surface === 'mcp') return settings.mcpAuthEnabled;
  return scope === 'metrics' ? settings.metricsAuthEnabled : settings.apiAuthEnabled;
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
