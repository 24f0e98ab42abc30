/** An operation that may have to be done by another admin, and what it takes to have it done there. */
import type { Idempotency } from '../../actors/node/messages.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { TraceContext } from '../../transport/protocol/trace-context.ts';
import type { Deadline } from './deadline.ts';
import type { ForwardedPart } from './forwarded-part.ts';
import type { OwnersPort, PeerCalls } from './ports.ts';
import type { Reads } from '../ports.ts';

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
export interface Forwardable<T> extends ForwardedPart<T> {
  readonly idempotency: Idempotency | null;
  /** Whose key it was, and where it came in: for the log of the owner. */
  readonly principal: string;
  readonly surface: string;
  readonly requestId: string;
  readonly trace: TraceContext | null;
  readonly deadline: Deadline;
}
