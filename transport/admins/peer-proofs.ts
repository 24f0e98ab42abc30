/** Whether a request comes from another admin, by its header alone: before anything else of it is looked at. */
import type { IncomingMessage } from 'node:http';
import { clientAddressOf } from '../net/client-address.ts';
import type { Log } from '../net/log.ts';
import { createAddressLimiter, type WindowLimiter } from '../net/window-limiter.ts';
import { CALL_AGE_MS_MAX, NONCES_MAX, WRONG_PROOFS_PER_MINUTE_MAX } from './limits.ts';
import { readHeader, type ReceivedHeader } from './peer-header.ts';
import type { PeerKeys } from './peer-key.ts';
import type { Peers } from './peers.ts';
import { PEER_HEADER } from './protocol/version.ts';
import { SeenNonces } from './seen-nonces.ts';

/** Addresses whose wrong proofs are remembered at once (L2). */
const ADDRESSES_MAX = 10_000;
const MINUTE_MS = 60_000;

/**
 * What a header says. `misdirected`: of an admin that meant another process. `full`: of an admin whose proofs cannot be
 * remembered any more, so that this one cannot be taken either. `unproven`: nobody's that is to be told anything.
 */
export type PeerProof =
  | { readonly type: 'proven' | 'full'; readonly header: ReceivedHeader }
  | { readonly type: 'misdirected' }
  | { readonly type: 'unproven' };

/** What proofs are judged by. */
export interface PeerProofPorts {
  readonly keys: PeerKeys;
  readonly peers: Peers;
  /** By the database's clock. */
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  readonly log: Log;
  /** Default: NONCES_MAX of one process. */
  readonly noncesMax?: number;
}

/** Of all requests that come in, whatever their path: a proof is good once. */
export class PeerProofs {
  readonly #ports: PeerProofPorts;
  readonly #nonces: SeenNonces;
  readonly #wrongProofs: WindowLimiter;
  /** Addresses that the log has named within a minute. */
  readonly #named: WindowLimiter;

  constructor(ports: PeerProofPorts) {
    this.#ports = ports;
    this.#nonces = new SeenNonces(CALL_AGE_MS_MAX, ports.noncesMax ?? NONCES_MAX);
    const byAddress = (perWindowMax: number): WindowLimiter =>
      createAddressLimiter({ perWindowMax, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX }, { nowMs: ports.monotonicMs });
    this.#wrongProofs = byAddress(WRONG_PROOFS_PER_MINUTE_MAX);
    this.#named = byAddress(1);
  }

  /** Judges a request that is to have this method and path, such as `POST /internal/v1/call`. */
  judge(route: string, request: IncomingMessage): PeerProof {
    const header = readHeader(request.headers[PEER_HEADER]);
    return header === null ? UNPROVEN : this.judged(route, header);
  }

  /** The same for a header that came another way. */
  judged(route: string, header: ReceivedHeader): PeerProof {
    if (!this.#isProven(route, header)) return UNPROVEN;
    const { fromInstance, toInstance, nonce, sentAtMs } = header.said;
    const { keys, nowMs } = this.#ports;
    if (toInstance !== keys.instance) return MISDIRECTED;
    if (fromInstance === keys.instance) return UNPROVEN;
    const verdict = this.#nonces.take(fromInstance, nonce, sentAtMs, nowMs());
    if (verdict === 'seen') return UNPROVEN;
    return { type: verdict === 'full' ? 'full' : 'proven', header };
  }

  /** Counts a request that nobody was found to have sent. */
  refused(request: IncomingMessage): void {
    const address = clientAddressOf(request);
    if (this.#wrongProofs.add(address) > 0 && this.#named.add(address) === 0)
      this.#ports.log.warn({ address }, 'somebody keeps calling as an admin without the proof of one');
  }

  /** Forgets what is too old to be shown again. */
  sweep(): void {
    this.#nonces.sweep(this.#ports.nowMs());
  }

  #isProven(route: string, header: ReceivedHeader): boolean {
    const { peers, keys, nowMs } = this.#ports;
    const { fromAdmin, fromInstance, sentAtMs } = header.said;
    return (
      // Itself: where the address of another admin led back here, which it is to be told.
      (peers.has(fromAdmin, fromInstance) || fromInstance === keys.instance) &&
      Math.abs(nowMs() - sentAtMs) <= CALL_AGE_MS_MAX &&
      keys.isProven(route, header)
    );
  }
}

const UNPROVEN: PeerProof = { type: 'unproven' };
const MISDIRECTED: PeerProof = { type: 'misdirected' };
