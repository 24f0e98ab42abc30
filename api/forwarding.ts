/**
 * Operations that only the owner of something can do, done wherever they are asked: here where this admin owns it, else
 * by one call to the admin that does. A change of owner meanwhile is a slow answer, not an error.
 */
import { DatabaseUnavailable, type Clock } from '../actors/ports.ts';
import type { Idempotency } from '../actors/node/messages.ts';
import type { Result } from '../actors/refusal.ts';
import type { Log } from '../transport/net/log.ts';
import type { TraceContext } from '../transport/protocol/trace-context.ts';
import { ForwardedCall } from './forwarded-call.ts';
import { ForwardingCounters } from './forwarding-counters.ts';
import type { OwnedBy, Owner, OwnersPort, PeerCalls } from './forwarding-ports.ts';
import type { AfterLoss } from './operation.ts';
import type { Reads } from './ports.ts';

/** What forwarding needs of the outside. */
export interface ForwardingPorts {
  readonly owners: OwnersPort;
  readonly calls: PeerCalls;
  readonly reads: Pick<Reads, 'idempotencyRecord'>;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  /** UUID. */
  readonly newCallId: () => string;
  readonly log: Log;
}

/** An operation as a client asked for it, after all that is judged where it came in. */
export interface Forwardable<T> {
  readonly operation: string;
  /** As JSON. It is parsed again by the owner. */
  readonly input: unknown;
  readonly afterLoss: AfterLoss | null;
  readonly idempotency: Idempotency | null;
  /** Whose key it was, and where it came in: for the log of the owner. */
  readonly principal: string;
  readonly surface: string;
  readonly requestId: string;
  readonly trace: TraceContext | null;
  /** Whose owner must do it, or nobody's. Null: any admin does it. */
  readonly ownedBy: (() => Promise<OwnedBy | null> | OwnedBy | null) | null;
  /** Does it here. `isRepeat`: an earlier try may have been done. */
  handle(idempotency: Idempotency | null, isRepeat: boolean): Promise<Result<T>>;
}

/** Does operations where they can be done. */
export class Forwarding {
  readonly counters = new ForwardingCounters();
  readonly #ports: ForwardingPorts | null;

  /** Null: this admin knows of no other, and does everything itself. */
  constructor(ports: ForwardingPorts | null) {
    this.#ports = ports;
  }

  /** Rejects with DatabaseUnavailable. */
  async ownerOf(owned: OwnedBy): Promise<Owner> {
    return (await this.#ports?.owners.of(owned)) ?? NOBODY;
  }

  /**
   * Does it here or has it done. Rejects as `handle` does, and with DatabaseUnavailable; ends within FORWARD_MS_MAX, or
   * within the time of one ask more where it is done here.
   */
  async perform<T>(asked: Forwardable<T>): Promise<Result<T>> {
    const ports = this.#ports;
    if (ports === null || asked.ownedBy === null) return asked.handle(asked.idempotency, false);
    const beganMs = ports.monotonicMs();
    if (!ports.owners.hasPeers()) {
      // One alone owns everything, or will: only where it does not yet is anything looked up.
      const done = await asked.handle(asked.idempotency, false);
      if (done.ok || done.refusal.notOwner !== true) return done;
    }
    const owned = await asked.ownedBy();
    if (owned === null) return asked.handle(asked.idempotency, false);
    const call = new ForwardedCall(ports, this.counters, asked, owned, beganMs);
    try {
      return await call.done();
    } catch (error) {
      if (error instanceof DatabaseUnavailable && call.mayBeDone) return call.inDoubt();
      throw error;
    } finally {
      if (call.wasSent) this.counters.ended(asked.operation, ports.monotonicMs() - beganMs);
    }
  }
}

const NOBODY: Owner = { type: 'nobody' };
