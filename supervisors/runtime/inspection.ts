/**
 * Inspection of the tree: which actors it has, how they fare, and how large they are. Reads only, and never a
 * message's content.
 */
import { serialize } from 'node:v8';
import {
  ACTOR_KINDS,
  type ActorSearch,
  type ActorSnapshot,
  type DebugInspection,
  type FamilySnapshot,
} from '../../actors/inspection.ts';
import type { ActorKind } from '../../actors/messages.ts';
import type { Directory } from './directory.ts';
import type { ActorCell } from './actor-cell.ts';

/** Looks into the tree. */
export type Inspection = Pick<DebugInspection, 'families' | 'search'>;

/** Looks into a directory. */
export function createInspection(directory: Pick<Directory, 'cells' | 'shards'>): Inspection {
  return {
    families: () => ACTOR_KINDS.map((kind) => familyOf(kind, directory)),
    search({ kind, text, order, offset, limit }) {
      const needle = text.toLowerCase();
      const found: ActorCell[] = [];
      for (const one of kind === null ? ACTOR_KINDS : [kind]) {
        for (const cell of directory.cells(one))
          if (cell.address.id.includes(needle) || (cell.cluster?.includes(needle) ?? false)) found.push(cell);
      }
      found.sort(ORDERS[order]);
      return { actors: found.slice(offset, offset + limit).map(snapshotOf), total: found.length };
    },
  };
}

function familyOf(kind: ActorKind, directory: Pick<Directory, 'cells' | 'shards'>): FamilySnapshot {
  let [actors, mailboxMessages, mailboxMessagesMax, restarts] = [0, 0, 0, 0];
  for (const cell of directory.cells(kind)) {
    const waiting = cell.mailbox.size();
    actors += 1;
    mailboxMessages += waiting;
    if (waiting > mailboxMessagesMax) mailboxMessagesMax = waiting;
    restarts += cell.crashes;
  }
  return { kind, actors, shards: directory.shards(kind), mailboxMessages, mailboxMessagesMax, restarts };
}

const byId = (one: ActorCell, other: ActorCell): number =>
  one.address.id < other.address.id ? -1 : one.address.id > other.address.id ? 1 : 0;

/** The busiest or the most troubled first, then by id, so that pages do not shift. */
const ORDERS = {
  mailbox: (one: ActorCell, other: ActorCell) =>
    other.mailbox.size() - one.mailbox.size() || other.crashes - one.crashes || byId(one, other),
  restarts: (one: ActorCell, other: ActorCell) =>
    other.crashes - one.crashes || other.mailbox.size() - one.mailbox.size() || byId(one, other),
  id: byId,
} as const satisfies Record<ActorSearch['order'], (one: ActorCell, other: ActorCell) => number>;

function snapshotOf(cell: ActorCell): ActorSnapshot {
  const { kind, id } = cell.address;
  return {
    kind,
    id,
    cluster: cell.cluster,
    condition: cell.isRunning ? 'running' : cell.resting ? 'resting' : 'starting',
    mailboxMessages: cell.mailbox.size(),
    restarts: cell.crashes,
    lastCrash: cell.lastCrash,
    stateBytes: cell.isRunning ? serialize(cell.state).length : null,
  };
}
