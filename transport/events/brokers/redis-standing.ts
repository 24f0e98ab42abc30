/** Whether a Redis server is still the one that events should go to: asked when it is taken, and from time to time. */
import type { Redis } from 'ioredis';
import { permitted } from './redis-connection.ts';

/** How often a server that is used is asked, in ms. */
export const STANDING_EVERY_MS = 30_000;

/** What a server said of itself. */
export interface Judgement {
  /** What is wrong with it as the one to publish to, as a part of a sentence; null: nothing is, as far as is known. */
  readonly problem: string | null;
  /** Whether it is to be asked again: not where this user may not ask, as it counts what it refuses. */
  readonly isWatched: boolean;
}

/** Asks a server whether it is what it should be. */
export type Standing = (client: Redis) => Promise<Judgement>;

const STANDS: Judgement = { problem: null, isWatched: true };
const UNWATCHED: Judgement = { problem: null, isWatched: false };

const IS_REPLICA = 'it is the replica of another';

/** As a node of a cluster, which it may call broken unless `isWholeCluster`; nothing can change with it then. */
export function inCluster(isWholeCluster: boolean): Standing {
  return async (client) => {
    const info = await permitted(client.cluster('INFO')).catch((error: unknown) => {
      if (String(error).includes('cluster support disabled')) return 'disabled';
      throw error;
    });
    if (info === 'disabled') return fallen('EVENT_BROKER_REDIS_MODE is "cluster", but it is no node of one');
    if (info === null || !isWholeCluster) return UNWATCHED;
    return info.includes('cluster_state:ok') ? STANDS : fallen('its cluster is down');
  };
}

/** As the master: a sentinel may be the last to hear. */
export const asMaster: Standing = async (client) => {
  const role = await roleOf(client);
  if (role === null) return UNWATCHED;
  return role === 'master' ? STANDS : fallen('it is not the master any more');
};

/**
 * As a server by itself, and no replica, unless `isReplicaTaken` for want of any other: one that never was anything
 * else is meant then. `masters` are the names of those that were, as far as this adapter has seen; it is added to.
 */
export function byItself(name: string, masters: Set<string>, isReplicaTaken: boolean): Standing {
  return async (client) => {
    const role = await roleOf(client);
    if (role === null) return UNWATCHED;
    if (role !== 'slave') masters.add(name);
    return role === 'slave' && (!isReplicaTaken || masters.has(name)) ? fallen(IS_REPLICA) : STANDS;
  };
}

function fallen(problem: string): Judgement {
  return { problem, isWatched: true };
}

/** What a server says that will tell later. Source: Redis, `src/server.c` (shared errors). */
const NOT_NOW = /^(?:LOADING|BUSY|NOAUTH|MASTERDOWN)/u;

/** Null: it does not tell. Servers that know no such command, and proxies before them, have many words for that. */
async function roleOf(client: Redis): Promise<string | null> {
  const role: unknown = await client.role().catch((error: unknown) => {
    if (error instanceof Error && error.name === 'ReplyError' && !NOT_NOW.test(error.message)) return null;
    throw error;
  });
  return Array.isArray(role) ? String(role[0]) : null;
}

/**
 * Asks again and again until something is wrong, which is told once, there is nothing to ask any more, or the returned
 * function is called. A server that does not answer is found out by the next publish, and not told.
 */
export function watchStanding(
  client: Redis,
  standing: Standing,
  everyMs: number,
  fell: (problem: string) => void,
): () => void {
  let timer: NodeJS.Timeout;
  let isOver = false;
  const heard = ({ problem, isWatched }: Judgement): void => {
    if (problem !== null) fell(problem);
    else if (isWatched) wait();
  };
  const wait = (): void => {
    if (isOver) return;
    timer = setTimeout(() => {
      standing(client).then(heard, wait);
    }, everyMs);
    timer.unref();
  };
  wait();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
