/** A host, by name or address, to the addresses that may be dialled for it; all are good or it is refused. */
import { isIPv6 } from 'node:net';
import { addressKind, isAllowedAddress, type AddressPolicy } from './policy.ts';
import { bareHost, bareName, isLiteral, nameProblem } from './destination.ts';
import { ANSWERS_MAX, RESOLVE_MS_MAX } from './limits.ts';
import { systemResolver, type Resolve } from './resolution.ts';

/** What the guard takes. Without a policy beyond it, only public addresses are reached. */
export interface VettingOptions extends AddressPolicy {
  /** Who knows the addresses of names; the system, unless a test has servers of its own. */
  readonly resolve?: Resolve;
  /** Longest wait for a name's addresses, in ms. */
  readonly resolveMsMax?: number;
}

/** An address that was checked, as `net` wants it. */
export interface CheckedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/**
 * Addresses to dial and no other, in the order in which to try them (at least one). Or why not, in one sentence for a
 * person that names no address but one that they wrote: `refused` stays so, `unresolved` may pass.
 */
export type Vetted =
  | { readonly ok: true; readonly addresses: readonly [CheckedAddress, ...CheckedAddress[]] }
  | { readonly ok: false; readonly kind: 'refused' | 'unresolved'; readonly reason: string };

/**
 * Checks a host: a name, or an address with or without brackets. Never rejects. Who dials must dial what it answers,
 * without asking again. A signal gives the look-up up, which is then `unresolved`.
 */
export type Vet = (host: string, signal?: AbortSignal) => Promise<Vetted>;

/** Makes the check of hosts under a policy. */
export function createVet(options: VettingOptions): Vet {
  const { resolve = systemResolver(), resolveMsMax = RESOLVE_MS_MAX } = options;

  return async (written, signal) => {
    const host = bareHost(written);
    const hostProblem = isLiteral(host) ? literalProblem(host, options) : nameProblem(host, options);
    if (hostProblem !== undefined) return refused(hostProblem);
    if (isLiteral(host)) return allowed([host]);
    const answers = await answersOf(host, resolve, resolveMsMax, signal);
    if (typeof answers === 'string') return { ok: false, kind: 'unresolved', reason: answers };
    if (answers.length > ANSWERS_MAX) return refused(`${host} has more than ${ANSWERS_MAX} addresses.`);
    const problem = answersProblem(host, answers, options);
    return problem === undefined ? allowed(answers) : refused(problem);
  };
}

/** Why an address must not be dialled, or undefined. */
export function literalProblem(host: string, policy: AddressPolicy): string | undefined {
  if (isAllowedAddress(host, policy)) return undefined;
  if (policy.rulingOn?.(host) === 'blocked') return `${host} is blocked by the operator of this machine.`;
  const kind = addressKind(host);
  if (kind === 'loopback' && policy.allowPrivate)
    return `${host} is this machine itself, which is not reached this way.`;
  return kind === 'private' || kind === 'loopback'
    ? `${host} is a private address, which must not be reached.`
    : `${host} is a metadata, reserved or translated address, which is never reached.`;
}

/**
 * Why what a name resolves to must not be dialled, or undefined. One bad answer refuses all: it is there by mistake or
 * by intent, and the next look-up may give it alone.
 */
function answersProblem(name: string, answers: readonly string[], policy: AddressPolicy): string | undefined {
  const isOpened = policy.rulingOn?.(bareName(name)) === 'opened';
  if (answers.every((address) => isAllowedAddress(address, policy, isOpened))) return undefined;
  if (answers.some((address) => policy.rulingOn?.(address) === 'blocked'))
    return `${name} resolves to an address that is blocked by the operator of this machine.`;
  return `${name} resolves to a ${closedKind(policy)} or reserved address, which must not be reached.`;
}

/** The least of what a policy keeps closed, in a word. */
function closedKind({ allowPrivate, allowLoopback = allowPrivate }: AddressPolicy): string {
  if (!allowPrivate) return 'private';
  return allowLoopback ? 'metadata' : 'loopback';
}

/** The addresses of a name, at least one, or a sentence that says why there are none. */
async function answersOf(
  name: string,
  resolve: Resolve,
  msMax: number,
  signal?: AbortSignal,
): Promise<readonly string[] | string> {
  const limit = new AbortController();
  const late = new Promise<never>((_resolve, reject) => {
    limit.signal.addEventListener('abort', () => {
      reject(new Error('late'));
    });
  });
  const giveUp = () => {
    limit.abort();
  };
  const timer = setTimeout(giveUp, msMax).unref();
  signal?.addEventListener('abort', giveUp);
  try {
    const answers = await Promise.race([resolve(name, limit.signal), late]);
    return answers.length > 0 ? answers : `${name} has no address.`;
  } catch {
    return limit.signal.aborted ? `${name} was not resolved within ${msMax} ms.` : `${name} does not resolve.`;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
  }
}

/** IPv4 first: where IPv6 leads nowhere each try would cost its time limit, the other way round it costs nothing. */
function allowed(answers: readonly string[]): Vetted {
  const all = answers
    .map((address): CheckedAddress => ({ address, family: isIPv6(address) ? 6 : 4 }))
    .sort((a, b) => a.family - b.family);
  return { ok: true, addresses: all as [CheckedAddress, ...CheckedAddress[]] };
}

function refused(reason: string): Vetted {
  return { ok: false, kind: 'refused', reason };
}
