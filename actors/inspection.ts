/**
 * A running admin as it is seen from outside, for the debug dashboard. Nothing here holds a message's content or a
 * secret.
 */
import type { ActorKind } from './messages.ts';

/** One kind of actors. `shards`: the silent parents over them. */
export interface FamilySnapshot {
  readonly kind: ActorKind;
  readonly actors: number;
  readonly shards: number;
  readonly mailboxMessages: number;
  readonly mailboxMessagesMax: number;
  readonly restarts: number;
}

/** The last crash of an actor. What it threw may hold secrets: only its kind is kept, the log has the rest. */
export interface LastCrash {
  readonly atMs: number;
  readonly messageType: string | null;
  readonly error: string;
}

/** One actor. */
export interface ActorSnapshot {
  readonly kind: ActorKind;
  readonly id: string;
  /** The cluster that it belongs to; null for none. */
  readonly cluster: string | null;
  /** `starting`: its rows are read; `resting`: it crashed too often and waits. */
  readonly condition: 'running' | 'starting' | 'resting';
  readonly mailboxMessages: number;
  readonly restarts: number;
  readonly lastCrash: LastCrash | null;
  /** About how large its state is, as V8 serialises it; null when it does not run. */
  readonly stateBytes: number | null;
}

/** Ways to order actors. */
export const ACTOR_ORDERS = ['mailbox', 'restarts', 'id'] as const;
/** The kinds of actors, in the order in which they are shown. */
export const ACTOR_KINDS = [
  'cluster',
  'node',
  'command',
  'webhook',
  'self-update',
] as const satisfies readonly ActorKind[];

/** Which actors are asked for. */
export interface ActorSearch {
  /** Null: all kinds. */
  readonly kind: ActorKind | null;
  /** Part of an id or of the id of its cluster; empty for all. */
  readonly text: string;
  readonly order: (typeof ACTOR_ORDERS)[number];
  readonly offset: number;
  readonly limit: number;
}

/** One live session of an agent. */
export interface SessionSnapshot {
  readonly node: string;
  readonly protocol: number;
  readonly openedMs: number;
  readonly heardMs: number;
  readonly reportedMs: number;
  readonly bufferedBytes: number;
  readonly isPaused: boolean;
}

/** The database at one moment; times are ms, sizes bytes. */
export interface DatabaseSnapshot {
  readonly version: string;
  readonly bytes: number;
  readonly connections: number;
  readonly longestTransactionMs: number;
  readonly waitingForLocks: number;
  readonly pool: { readonly open: number; readonly idle: number; readonly waiting: number };
  readonly tables: readonly {
    readonly name: string;
    readonly rows: number;
    readonly deadRows: number;
    readonly bytes: number;
    readonly sequentialScans: number;
    readonly indexScans: number;
  }[];
  readonly channels: readonly {
    readonly name: string;
    readonly admin: string | null;
    readonly epoch: number;
    readonly leaseMs: number | null;
    readonly backlog: number;
  }[];
  /** What one admin does at a time, and the name of the one that does it now; null: nobody. */
  readonly tasks: readonly { readonly task: string; readonly admin: string | null }[];
  readonly leases: readonly {
    readonly cluster: string;
    readonly nodes: number;
    readonly admin: string | null;
    readonly epoch: number;
    /** Since this epoch began; null: before that was noted. */
    readonly ownedMs: number | null;
    readonly leaseMs: number;
  }[];
  readonly leaseCount: number;
  /** `drainingMs`: since when it drains; null: it does not. */
  readonly admins: readonly {
    readonly name: string;
    readonly version: string;
    readonly seenMs: number;
    readonly drainingMs: number | null;
    readonly clusters: number;
  }[];
}

/** How this admin gets to another one. `sinceMs` is Unix time; null: not known. */
export interface LinkSnapshot {
  readonly admin: string;
  readonly state: string;
  readonly sinceMs: number | null;
  readonly latencyMs: number | null;
  readonly why: string | null;
}

/** Everything that can be inspected. */
export interface DebugInspection {
  families(): readonly FamilySnapshot[];
  /** Those found, and how many there are in all. States are measured of these alone. */
  search(wanted: ActorSearch): { readonly actors: readonly ActorSnapshot[]; readonly total: number };
  counters(): { readonly deadLetters: number; readonly crashes: number; readonly escalations: number };
  /** At most `limit` sessions, those first that were not heard for longest; and how many there are. */
  sessions(limit: number): { readonly sessions: readonly SessionSnapshot[]; readonly total: number };
  links(): readonly LinkSnapshot[];
  /** Rejects with DatabaseUnavailable. */
  database(): Promise<DatabaseSnapshot>;
}
