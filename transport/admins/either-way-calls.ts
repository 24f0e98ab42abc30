/**
 * Calls to other admins by the link, and where that gives no answer by way of the database too: the same call under the
 * same id, which the other side does once.
 */
import type { Clock } from '../../actors/ports.ts';
import type { PeerCall, PeerCalls, PeerOutcome } from '../../api/forwarding/ports.ts';
import type { Calls } from './calls.ts';
import type { DatabaseCalls } from './database-calls.ts';
import { DETOUR_AFTER_MS } from './limits.ts';
import type { Peer, Peers } from './peers.ts';

/** What they need. */
export interface EitherWayPorts {
  readonly peers: Pick<Peers, 'callable' | 'isUnreached'>;
  readonly link: Pick<Calls, 'call' | 'isLinked'>;
  readonly database: Pick<DatabaseCalls, 'call'>;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
}

/** Why the other way is not waited for; a reason of its own saves the making of an error. */
const ANSWERED = 'answered';

/** Calls by whichever way answers. */
export class EitherWayCalls implements PeerCalls {
  /** Calls that were answered by way of the database. */
  detoured = 0;
  readonly #ports: EitherWayPorts;

  constructor(ports: EitherWayPorts) {
    this.#ports = ports;
  }

  call(admin: string, call: PeerCall, signal: AbortSignal): Promise<PeerOutcome> {
    const peer = this.#ports.peers.callable(admin);
    if (peer === null || signal.aborted) return this.#ports.link.call(admin, call, signal);
    return this.#byEither(peer, call, signal);
  }

  /** Whether calls to this admin go over one connection of the link now. */
  isLinked(admin: string): boolean {
    return this.#ports.link.isLinked(admin);
  }

  /** The link is always tried, since it may be whole again. */
  async #byEither(peer: Peer, call: PeerCall, signal: AbortSignal): Promise<PeerOutcome> {
    const { link, clock, peers, monotonicMs } = this.#ports;
    const beganMs = monotonicMs();
    const over = new AbortController();
    const end = (): void => over.abort();
    signal.addEventListener('abort', end, { once: true });
    const silent = Promise.withResolvers<void>();
    const cancel = clock.after(peers.isUnreached(peer.id) ? 0 : DETOUR_AFTER_MS, silent.resolve);
    try {
      const linked = link.call(peer.id, call, over.signal);
      const first = await Promise.race([linked, silent.promise]);
      if (first !== undefined && (first.type !== 'lost' || signal.aborted)) return first;
      const remaining_ms = call.remaining_ms - (monotonicMs() - beganMs);
      // No further attempt: the process that is asked knows whether it has done it.
      const detoured = this.#ports.database.call(peer, { ...call, remaining_ms }, over.signal);
      return await this.#firstAnswer(linked, detoured);
    } finally {
      cancel();
      signal.removeEventListener('abort', end);
      over.abort(ANSWERED);
    }
  }

  /**
   * Nothing was done only where neither way did anything: who is too busy for the call that came by one way may be
   * doing it as it came by the other.
   */
  async #firstAnswer(linked: Promise<PeerOutcome>, detoured: Promise<PeerOutcome>): Promise<PeerOutcome> {
    const isDetoured = await Promise.race([linked.then(() => false), detoured.then(() => true)]);
    const first = await (isDetoured ? detoured : linked);
    const last = isNoAnswer(first) ? await (isDetoured ? linked : detoured) : first;
    if (isNoAnswer(last)) return leastSure(await linked, await detoured);
    if ((last === first) === isDetoured) this.detoured += 1;
    return last;
  }
}

/** Nothing was done for what came by this way, or nobody knows. */
function isNoAnswer({ type }: PeerOutcome): boolean {
  return type === 'lost' || type === 'busy';
}

/** That something may have been done, else what was answered, else why the link does not reach it. */
function leastSure(byLink: PeerOutcome, byDatabase: PeerOutcome): PeerOutcome {
  const both = [byLink, byDatabase];
  return both.find((one) => one.type === 'lost' && !one.sure) ?? both.find(({ type }) => type === 'busy') ?? byLink;
}
