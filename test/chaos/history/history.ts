/** What clients asked several admins, and what they were told, with times of one clock that never goes back. */
/** What has a name, or a text of its own, and is created, shown, changed and deleted. */
export type Resource = 'cluster' | 'group' | 'alias' | 'ssh_username' | 'enrollment_key' | 'command' | 'webhook';

/** One of them, as an admin or the database shows it. */
export interface Shown {
  readonly id: string;
  /** What can be changed of it, in words; null: nothing, or none. */
  readonly value: string | null;
  /** The node that it is of, where it is of one. */
  readonly node: string | null;
}

/** A node, as an admin or the database shows it. */
export interface ShownNode {
  readonly cluster: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * One thing that has a name. What is of a cluster or a node has that in its scope, so that a scope and a name are one
 * thing at a time.
 */
export interface Named {
  readonly resource: Resource;
  readonly scope: string;
  readonly name: string;
}

/** What was asked. `id`: of the one that is meant; null: whichever has the name. */
export type Request =
  | (Named & {
      readonly verb: 'create';
      /** The Idempotency-Key. */
      readonly key: string;
      readonly value: string | null;
      readonly node: string | null;
      /** From when on it is refused, unless it was done by then, in ms since the history began. Absent: never. */
      readonly expiresMs?: number;
    })
  | (Named & { readonly verb: 'show' })
  | (Named & { readonly verb: 'update'; readonly id: string | null; readonly value: string | null })
  | (Named & { readonly verb: 'delete' | 'cancel'; readonly id: string | null })
  | { readonly verb: 'show-node' | 'delete-node' | 'set-recovery' | 'clear-recovery'; readonly node: string }
  | { readonly verb: 'move'; readonly node: string; readonly cluster: string }
  | { readonly verb: 'label'; readonly node: string; readonly label: string; readonly value: string | null }
  | {
      readonly verb: 'enrol';
      readonly node: string;
      readonly cluster: string;
      /** Name of the enrolment key. */
      readonly keyName: string;
      /** Which machine it is: its secret. */
      readonly machine: string;
      /** The recovery key that it came with; null: none. */
      readonly recovery: string | null;
    };

/**
 * What became of it. `ok`: done, with what was shown. `refused`: it was not done, for a reason that lies in what is
 * stored. `unavailable`: it was not done, and nothing follows. `doubt`: it was done or not, or still is going to be.
 */
export type Outcome =
  | {
      readonly type: 'ok';
      readonly status: number;
      readonly shown?: readonly Shown[];
      /** Of `show-node`; null: there is none. */
      readonly node?: ShownNode | null;
      /** Of `set-recovery` its key, of an enrolment the token of the node. */
      readonly secret?: string;
    }
  | { readonly type: 'refused' | 'unavailable'; readonly status: number; readonly code: string; readonly why: string }
  | { readonly type: 'doubt'; readonly why: string };

/** Where it was asked: at the owner of what it is about, at another admin while there is one, while there is none. */
export type Place = 'owner' | 'other' | 'ownerless' | 'any';

/** One call. */
export interface Call {
  readonly client: number;
  readonly admin: string;
  readonly place: Place;
  /** Who owned what it is about, as it was seen last; null: nobody does, or there is no owner of it. */
  readonly owner: string | null;
  /** As the catalogue of operations calls it; what stands in no catalogue has a name of its own. */
  readonly operation: string;
  readonly request: Request;
  /** ms since the history began. */
  readonly invokedMs: number;
  /** When it was answered, or given up. */
  readonly answeredMs: number;
  readonly outcome: Outcome;
}

/** How an execution was seen at some admin. */
export interface Observation {
  readonly execution: string;
  readonly command: string;
  readonly node: string;
  readonly status: string;
  readonly exitCode: number | null;
  readonly admin: string;
  readonly invokedMs: number;
  readonly answeredMs: number;
}

/** A session of a node's agent, from its welcome to its end. */
export interface SessionSpan {
  readonly node: string;
  readonly admin: string;
  readonly liveMs: number;
  /** Null: it lives. */
  readonly endedMs: number | null;
}

/** Who owned what, as the rows had it at one moment. */
export interface OwnerObservation {
  readonly cluster: string;
  /** Of the cluster: another one may have its name later. */
  readonly id: string;
  readonly admin: string;
  readonly epoch: number;
  readonly atMs: number;
}

/** A time in which an admin, or the database of all, did not serve as it should: calls may take longer then. */
export interface Fault {
  /** Its kind. */
  readonly name: string;
  /** To whom it was done. */
  readonly what: string;
  /** Frames that left an admin before came to its agents late. */
  readonly holdsFrames: boolean;
  /** Rows and tables were locked: it may have held up a write of any admin. */
  readonly holdsRows: boolean;
  readonly fromMs: number;
  readonly toMs: number;
}

/** What a reader of `events.watch` was told, over all admins at which it was, in its order. */
export interface EventReader {
  readonly name: string;
  readonly events: readonly { readonly id: string; readonly type: string }[];
}

/**
 * What a reader of `commands.watch` was told of each execution, in order, and whether it was told that all was over.
 */
export interface CommandReader {
  readonly command: string;
  readonly admin: string;
  readonly told: readonly { readonly execution: string; readonly status: string }[];
  /** It was there to the end: what it was told last is what is stored. */
  readonly isWhole: boolean;
}

/** What a reader of `nodes.watch` knows of all nodes, from the snapshot and the changes that it was told. */
export interface NodeReader {
  readonly admin: string;
  readonly nodes: ReadonlyMap<string, ShownNode>;
}

/** What a reader of `executions.tail` put together, and what was wrong with how it came. */
export interface TailReader {
  readonly execution: string;
  readonly admin: string;
  readonly text: string;
  readonly problems: readonly string[];
  /** It was told the end. */
  readonly isWhole: boolean;
}

/** An execution that an admin handed to its node, or whose result it confirmed. */
export interface Handed {
  readonly frame: 'deliver' | 'confirm';
  readonly execution: string;
  readonly admin: string;
  readonly atMs: number;
}

/** A script that an agent started. */
export interface Run {
  readonly execution: string;
  readonly startedMs: number;
  /** Null: it runs. */
  readonly endedMs: number | null;
  /** By itself, or because it was told to. */
  readonly end: 'completed' | 'stopped' | null;
}

/** An admin that came to the others, until it was given a cluster of theirs, or was given up. */
export interface Visit {
  readonly admin: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** It was given one by an admin that lived. */
  readonly isGiven: boolean;
  /** It should have been: it owned nothing for long enough, while nothing else was done to anybody. */
  readonly isDue: boolean;
}

/** Everything that was noted. */
export interface History {
  readonly calls: readonly Call[];
  readonly observations: readonly Observation[];
  readonly sessions: readonly SessionSpan[];
  readonly owners: readonly OwnerObservation[];
  readonly faults: readonly Fault[];
  readonly eventReaders: readonly EventReader[];
  readonly commandReaders: readonly CommandReader[];
  readonly nodeReaders: readonly NodeReader[];
  readonly tailReaders: readonly TailReader[];
  readonly handed: readonly Handed[];
  readonly runs: readonly Run[];
  readonly visits: readonly Visit[];
}

/** A history in which nothing happened. */
export const NOTHING: History = {
  calls: [],
  observations: [],
  sessions: [],
  owners: [],
  faults: [],
  eventReaders: [],
  commandReaders: [],
  nodeReaders: [],
  tailReaders: [],
  handed: [],
  runs: [],
  visits: [],
};

/** The client that is no client: the rows at the end, as a last read of everything. */
export const DATABASE = -1;
