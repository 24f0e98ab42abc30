/**
 * How streams leave this machine: what may be dialled, and the dial. Implemented in `agent/access/egress/dialler.ts`.
 */
import type { TunnelServer } from '../../../transport/protocol/tunnel.ts';
import type { Dialled } from '../../../transport/net/streams/dialled.ts';

/**
 * Who wants out. `self`: the admin's forward mode, which reaches this machine alone, its loopback included. `chain`:
 * the admin's chaining mode. `proxy`: a client of this machine's own proxies. `ssh`: a logged-in user's -L or -D, who
 * could dial anything from a shell as well.
 */
export type EgressUse = 'self' | 'chain' | 'proxy' | 'ssh';

/** What is asked for. */
export interface EgressTarget {
  readonly host: string;
  readonly port: number;
  /** Of a `self` dial: the server of this agent that is meant, wherever it listens. */
  readonly server?: TunnelServer | undefined;
}

/** Egress: how streams leave this machine. */
export interface Egress {
  /**
   * Opens a TCP stream; it is connected when this resolves. `host` of a `self` dial is ignored, and what is for a
   * server of this agent never comes to another program. Never rejects.
   */
  dial(target: EgressTarget, use: EgressUse, signal: AbortSignal): Promise<Dialled>;
}
