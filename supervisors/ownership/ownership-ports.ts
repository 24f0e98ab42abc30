/** What the ownership loop needs. */
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { Committer, Loader, SessionLink } from '../ports.ts';
import type { Directory } from '../runtime/directory.ts';
import type { HeldLeases } from './held.ts';
import type { HandOverPort, LeasePort, TakeoverPort } from './lease-port.ts';
import type { ClusterActivationPorts } from './cluster-activation.ts';

/** What the loop compares, and what it acts on. */
export interface OwnershipPorts extends Pick<ClusterActivationPorts, 'missed'> {
  readonly adminId: string;
  readonly leases: LeasePort;
  /** What the database grants, in ms. */
  readonly leaseMs: number;
  readonly handOvers: HandOverPort;
  readonly takeovers: TakeoverPort;
  /** An admin gets nothing by balancing before it has been there for so long, in ms. */
  readonly settledMs: number;
  readonly committer: Pick<Committer, 'caughtUp'>;
  readonly sessions: Pick<SessionLink, 'depart' | 'departing' | 'departed'>;
  /** Says that this admin is there. */
  readonly checkIn: () => Promise<unknown>;
  /**
   * Whether the database is not the one that it was, so that this admin ends to start anew, as all others may: it keeps
   * what it owns for then.
   */
  readonly isSetBack: () => boolean;
  readonly held: HeldLeases;
  readonly directory: Directory;
  readonly loader: Loader;
  readonly clock: Clock;
  readonly log: Log;
  /** By which leases run out: runs on while this machine is suspended. */
  readonly leaseClockMs: () => number;
}
