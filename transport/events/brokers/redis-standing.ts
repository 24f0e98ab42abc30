/** Whether a Redis server is still the one that events should go to: asked when it is taken, and from time to time. */
import type { Redis } from 'ioredis';
import { permitted } from './redis-connection.ts';

/** How often a server that is used is asked, in ms. */
export const STANDING_EVERY_MS = 30_000;

/** What is wrong with a server as the one to publish to, as a part of a sentence; null: nothing is. */
export type Standing = (client: Redis) => Promise<string | null>;

/** As a node of a cluster, which may be called broken by it unless `isWholeCluster`. */
export function inCluster(isWholeCluster: boolean): Standing {
  return async (client) => {
    const info = await permitted(client.cluster('INFO')).catch((error: unknown) => {
      if (String(error).includes('cluster support disabled')) return 'disabled';
      throw error;
    });
    if (info === 'disabled') return 'EVENT_BROKER_REDIS_MODE is "cluster", but it is no node of one';
    return info === null || !isWholeCluster || info.includes('cluster_state:ok') ? null : 'its cluster is down';
  };
}

/** As the master: a sentinel may be the last to hear. */
export const asMaster: Standing = async (client) => {
  const role = await roleOf(client);
  return role === null || role === 'master' ? null : 'it is not the master any more';
};

/** As the server of that name: a replica may be meant, and a master that is demoted after it was asked first is not. */
export function asBefore(): Standing {
  let before: string | null = null;
  return async (client) => {
    const role = await roleOf(client);
    before ??= role;
    return role === before || role !== 'slave' ? null : 'it was made the replica of another';
  };
}

async function roleOf(client: Redis): Promise<string | null> {
  const role: unknown = await permitted(client.role());
  return Array.isArray(role) ? String(role[0]) : null;
}

/**
 * Asks again and again until something is wrong, which is told once, or the returned function is called. A server that
 * does not answer is found out by the next publish, and not told.
 */
export function watchStanding(
  client: Redis,
  standing: Standing,
  everyMs: number,
  fell: (problem: string) => void,
): () => void {
  let timer: NodeJS.Timeout;
  let isOver = false;
  const wait = (): void => {
    if (isOver) return;
    timer = setTimeout(() => {
      standing(client).then((problem) => (problem === null ? wait() : fell(problem)), wait);
    }, everyMs);
    timer.unref();
  };
  wait();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
