/**
 * Looking at the tree from outside: who lives in it, how they fare, and how large they are. Reads only, and never a
 * message's content.
 */
import { serialize } from 'node:v8';
import {
  ACTOR_KINDS,
  type ActorSearch,
  type ActorSight,
  type DebugSights,
  type FamilySight,
} from '../../actors/sights.ts';
import type { ActorKind } from '../../actors/messages.ts';
import type { Directory } from './directory.ts';
import type { Resident } from './resident.ts';

/** Looks into the tree. */
export type Inspection = Pick<DebugSights, 'families' | 'search'>;

/** Looks into a directory. */
export function createInspection(directory: Pick<Directory, 'residents' | 'shards'>): Inspection {
  return {
    families: () => ACTOR_KINDS.map((kind) => familyOf(kind, directory)),
    search({ kind, text, order, offset, limit }) {
      const needle = text.toLowerCase();
      const found: Resident[] = [];
      for (const one of kind === null ? ACTOR_KINDS : [kind]) {
        for (const resident of directory.residents(one))
          if (resident.address.id.includes(needle) || (resident.cluster?.includes(needle) ?? false))
            found.push(resident);
      }
      found.sort(ORDERS[order]);
      return { actors: found.slice(offset, offset + limit).map(sightOf), total: found.length };
    },
  };
}

function familyOf(kind: ActorKind, directory: Pick<Directory, 'residents' | 'shards'>): FamilySight {
  let [actors, mailboxMessages, mailboxMessagesMax, restarts] = [0, 0, 0, 0];
  for (const resident of directory.residents(kind)) {
    const waiting = resident.mailbox.size();
    actors += 1;
    mailboxMessages += waiting;
    if (waiting > mailboxMessagesMax) mailboxMessagesMax = waiting;
    restarts += resident.crashes;
  }
  return { kind, actors, shards: directory.shards(kind), mailboxMessages, mailboxMessagesMax, restarts };
}

const byId = (one: Resident, other: Resident): number =>
  one.address.id < other.address.id ? -1 : one.address.id > other.address.id ? 1 : 0;

/** The busiest or the most troubled first, then by id, so that pages do not shift. */
const ORDERS = {
  mailbox: (one: Resident, other: Resident) =>
    other.mailbox.size() - one.mailbox.size() || other.crashes - one.crashes || byId(one, other),
  restarts: (one: Resident, other: Resident) =>
    other.crashes - one.crashes || other.mailbox.size() - one.mailbox.size() || byId(one, other),
  id: byId,
} as const satisfies Record<ActorSearch['order'], (one: Resident, other: Resident) => number>;

function sightOf(resident: Resident): ActorSight {
  const { kind, id } = resident.address;
  return {
    kind,
    id,
    cluster: resident.cluster,
    condition: resident.isRunning ? 'running' : resident.resting ? 'resting' : 'starting',
    mailboxMessages: resident.mailbox.size(),
    restarts: resident.crashes,
    lastCrash: resident.lastCrash,
    stateBytes: resident.isRunning ? serialize(resident.state).length : null,
  };
}
