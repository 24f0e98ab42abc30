/** How streams leave this machine: what may be dialled, and the dial. Implemented in `agent/access/egress/dialler.ts`. */
import type { Dialled } from '../../../transport/net/streams/dialled.ts';

/**
 * Who wants out. `self`: the admin's forward mode, which reaches this machine alone, its loopback included. `chain`:
 * the admin's chaining mode. `proxy`: a client of this machine's own proxies. `ssh`: a logged-in user's -L or -D, who
 * could dial anything from a shell as well.
 */
export type EgressUse = 'self' | 'chain' | 'proxy' | 'ssh';

/** Egress: how streams leave this machine. */
export interface Egress {
  /** Opens a TCP stream; it is connected when this resolves. `host` of a `self` dial is ignored. Never rejects. */
  dial(target: { readonly host: string; readonly port: number }, use: EgressUse, signal: AbortSignal): Promise<Dialled>;
}
