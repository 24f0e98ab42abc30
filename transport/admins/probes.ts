/** Asks other admins now and then whether they are reached, so that a wrong address shows before it is needed. */
import type { PeerCall, PeerCalls } from '../../api/forwarding/ports.ts';
import type { Peer, Peers } from './peers.ts';
import { readPong } from './protocol/pong.ts';
import { PING } from './protocol/version.ts';
import { PROBE_EVERY_MS, PROBE_MS_MAX } from './limits.ts';

/** Probes that have to fail one after the other before an admin counts as unreached: one may have met its start. */
const FAILURES_MIN = 2;

/** What probes need. */
export interface ProbePorts {
  readonly peers: Peers;
  readonly calls: PeerCalls;
  readonly newId: () => string;
  readonly monotonicMs: () => number;
}

/** Of one process. */
interface Probed {
  readonly instance: string;
  atMs: number;
  failures: number;
  isUnderWay: boolean;
}

/** Asked for in rounds, by whoever learns who is alive. */
export class Probes {
  readonly #ports: ProbePorts;
  readonly #probed = new Map<string, Probed>();

  constructor(ports: ProbePorts) {
    this.#ports = ports;
  }

  /** Asks those that are due: each round while one is not reached, else every PROBE_EVERY_MS. Never rejects. */
  async round(): Promise<void> {
    const { peers, monotonicMs } = this.#ports;
    const all = peers.all();
    const alive = new Set(all.map(({ id }) => id));
    for (const id of this.#probed.keys()) if (!alive.has(id)) this.#probed.delete(id);
    await Promise.all(
      all.map(async (peer) => {
        const probed = this.#probedOf(peer);
        const isDue = !peers.isReached(peer.id) || probed.failures > 0 || monotonicMs() - probed.atMs >= PROBE_EVERY_MS;
        if (isDue && !probed.isUnderWay) await this.#ask(peer, probed);
      }),
    );
  }

  #probedOf(peer: Peer): Probed {
    const known = this.#probed.get(peer.id);
    if (known?.instance === peer.instance) return known;
    const probed = { instance: peer.instance, atMs: -Infinity, failures: 0, isUnderWay: false };
    this.#probed.set(peer.id, probed);
    return probed;
  }

  async #ask(peer: Peer, probed: Probed): Promise<void> {
    const { peers, calls, newId, monotonicMs } = this.#ports;
    probed.isUnderWay = true;
    const askedMs = monotonicMs();
    const outcome = await calls.call(peer.id, pingOf(newId(), peer), new AbortController().signal);
    probed.isUnderWay = false;
    probed.atMs = monotonicMs();
    probed.failures = outcome.type === 'lost' ? probed.failures + 1 : 0;
    if (outcome.type === 'answered') peers.measured(peer, probed.atMs - askedMs);
    if (outcome.type === 'answered' && outcome.result.ok) peers.ponged(peer, readPong(outcome.result.value));
    if (outcome.type === 'lost' && probed.failures >= FAILURES_MIN) peers.unreached(peer, outcome.why);
  }
}

/** What an admin is asked to see whether it hears. */
export function pingOf(id: string, { name }: Peer): PeerCall {
  return {
    call_id: id,
    operation: PING,
    input: null,
    target: { kind: 'admin', name },
    epoch: 0,
    principal: 'admin',
    surface: 'admin',
    request_id: id,
    traceparent: null,
    idempotency: null,
    remaining_ms: PROBE_MS_MAX,
    attempt: 1,
  };
}
