/** How an actor that does not run comes back: when, from its rows, under the lease of its cluster, or not at all. */
import { DatabaseUnavailable, type Clock } from '../../actors/ports.ts';
import { actorFields, type Message } from '../../actors/messages.ts';
import { UNAVAILABLE, type Refusal } from '../../actors/refusal.ts';
import type { Log } from '../../transport/net/log.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { HeldLeases } from '../ownership/held.ts';
import type { Committer } from '../ports.ts';
import type { ActorCell } from './actor-cell.ts';

/** There is no row of it. */
export const NOT_FOUND: Refusal = { code: 'not_found', message: 'Resource not found' };
/** Its cluster is another admin's. */
export const ELSEWHERE: Refusal = {
  ...UNAVAILABLE,
  message: 'Another admin owns this cluster now. Try again shortly.',
  notOwner: true,
};

/** Another admin delivers webhooks now. */
export const NOT_DELIVERING: Refusal = {
  ...UNAVAILABLE,
  message: 'Another admin delivers webhooks now. Try again shortly.',
  notOwner: true,
};

/** Clusters that no admin has room for. */
export interface Orphans {
  /** Takes one for the moment. False: it is none, or another admin was faster. */
  leaseTemporarily(cluster: ClusterId): Promise<boolean>;
  /** Why nothing else is done for it; null: it is none. */
  refusal(cluster: ClusterId): Refusal | null;
}

/** What a revival reads, and what it does with the cell. */
export interface RevivalPorts {
  readonly held: HeldLeases;
  readonly clock: Clock;
  readonly committer: Pick<Committer, 'ready'>;
  readonly log: Log;
  readonly orphans: Orphans;
  /** Whether it is in the directory still, and nothing runs in it. */
  isVacant(cell: ActorCell): boolean;
  start(cell: ActorCell, state: unknown): void;
  /** It cannot run here: whoever waits is told. */
  leave(cell: ActorCell, refusal: Refusal): void;
}

/** Wait between two tries to read an actor's rows while the database is away, in ms. */
const READ_AGAIN_MS = 250;

/** Rows that are there, and make no state: a bug. */
const UNREADABLE = Symbol('unreadable');

/** Starts cells from their rows. A class, because the directory has one for all of them. */
export class Revival {
  readonly #ports: RevivalPorts;

  constructor(ports: RevivalPorts) {
    this.#ports = ports;
  }

  /** Starts it, unless something else did meanwhile; leaves it where it has no rows, or no lease here. */
  async revive(cell: ActorCell): Promise<void> {
    const ports = this.#ports;
    cell.resting = false;
    const { gained } = ports.held.counters;
    const state = await this.#rowsOf(cell);
    if (!ports.isVacant(cell)) return;
    if (state === UNREADABLE) return ports.leave(cell, UNAVAILABLE);
    if (state === null) return ports.leave(cell, NOT_FOUND);
    const cluster = cell.kind.cluster(state);
    const isWanted = cluster !== null && cell.mailbox.some(isRelief);
    if (cluster === null || ports.held.holds(cluster)) {
      // The owner of before may have written after these rows were read: what it ended would run again (C3).
      if (cluster !== null && ports.held.gainOf(cluster) > gained) return this.revive(cell);
      if (isWanted) void this.#isTemporary(cluster); // one that is leased temporarily is kept for longer
      return ports.start(cell, state);
    }
    if (!isWanted) return ports.leave(cell, ports.orphans.refusal(cluster) ?? ELSEWHERE);
    if (!(await this.#isTemporary(cluster))) return ports.leave(cell, ELSEWHERE);
    if (ports.isVacant(cell)) void this.revive(cell); // from its rows as they are under the lease
  }

  async #isTemporary(cluster: ClusterId): Promise<boolean> {
    try {
      return await this.#ports.orphans.leaseTemporarily(cluster);
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable))
        this.#ports.log.error({ error, cluster }, 'a cluster without an owner could not be taken for the moment');
      return false;
    }
  }

  /** Null when there is no row; UNREADABLE when it cannot be read for a reason that waiting does not cure. */
  async #rowsOf(cell: ActorCell): Promise<unknown> {
    const { clock, committer, log } = this.#ports;
    for (;;) {
      try {
        return await cell.reload();
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) {
          log.error({ error, ...actorFields(cell.address) }, 'an actor could not be read from its rows');
          return UNREADABLE;
        }
        await new Promise<void>((resolve) => {
          clock.after(READ_AGAIN_MS, resolve);
        });
        await committer.ready();
      }
    }
  }
}

/** What makes room where there are more nodes than the admins have room for: it is not refused for the want of it. */
function isRelief({ type }: Message): boolean {
  return type === 'delete' || type === 'change-cluster';
}

const FOR_OWNER: ReadonlySet<Message['type']> = new Set([
  'run',
  'rescan',
  'count-changed',
  'agent-disconnected',
  'report-late',
  'vpn-told', // a node that is not here has no session either
]);

/**
 * Nobody waits for it, and the owner of whom it is for is told by its channel, or finds it in the rows: it starts no
 * actor only to learn that another admin owns it.
 */
export function isForOwner(message: Message): boolean {
  return message.type === 'cancel' ? message.replyTo === null : FOR_OWNER.has(message.type);
}

/**
 * Crashes within ESCALATE_WINDOW_MS after which an actor rests for REST_MS. Source: docs/architecture.md, Supervision.
 */
export const CRASHES_MAX = 5;
export const ESCALATE_WINDOW_MS = 60_000;

/** First wait after a crash, in ms; doubles with each crash in the window. */
export const BACK_OFF_MS_MIN = 20;

/**
 * How long an actor that keeps crashing is left alone, in ms. Who asks it in the meantime is told that it is
 * unavailable.
 */
export const REST_MS = 60_000;

/** What to do about a crash: start again after so many ms. */
export interface RestartDecision {
  readonly afterMs: number;
  /** Too many crashes: an operator should look. */
  readonly escalated: boolean;
  /** Crash times that still count. */
  readonly crashesMs: readonly number[];
}

/** Decides on a crash at `nowMs`, given the times of earlier ones. */
export function decideRestart(earlierMs: readonly number[], nowMs: number): RestartDecision {
  const crashesMs = [...earlierMs.filter((atMs) => nowMs - atMs < ESCALATE_WINDOW_MS), nowMs];
  if (crashesMs.length >= CRASHES_MAX) return { afterMs: REST_MS, escalated: true, crashesMs: [] };
  return { afterMs: BACK_OFF_MS_MIN * 2 ** (crashesMs.length - 1), escalated: false, crashesMs };
}
