/**
 * Operations that only the owner of something can do, done wherever they are asked: here where this admin owns it, else
 * by one call to the admin that does. A change of owner meanwhile is a slow answer, not an error.
 */
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { Result } from '../../actors/refusal.ts';
import { monotonicMs } from '../../transport/net/clock.ts';
import { deadlineFrom, type Deadline } from './deadline.ts';
import type { Forwardable, ForwardingPorts } from './forwardable.ts';
import { ForwardedCall } from './forwarded-call.ts';
import { ForwardingCounters } from './counters.ts';
import type { OwnedBy, Owner } from './ports.ts';

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

  /** Of a request that begins now: FORWARD_MS_MAX. */
  deadline(): Deadline {
    return deadlineFrom(this.#ports?.monotonicMs ?? monotonicMs);
  }

  /**
   * Does it here or has it done. Rejects as `handle` does, and with DatabaseUnavailable; ends by its deadline, or by
   * the timeout of its one ask where it is begun here at once.
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
    const call = new ForwardedCall(ports, this.counters, asked, owned);
    let outcome = 'failed';
    try {
      const result = await call.done();
      outcome = result.ok ? 'ok' : result.refusal.code;
      return result;
    } catch (error) {
      if (error instanceof DatabaseUnavailable && call.mayBeDone) return call.inDoubt();
      throw error;
    } finally {
      if (call.wasSent) this.counters.ended(asked.operation, outcome, ports.monotonicMs() - beganMs);
    }
  }
}

const NOBODY: Owner = { type: 'nobody' };
