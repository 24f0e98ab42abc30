/**
 * `redis`: publishes to channels; the channel is the type. Redis keeps nothing: who is not subscribed misses it. It
 * confirms each publish, and one connection keeps the order. In a cluster every node passes a publish on to all others,
 * so one node is enough, and only one keeps the order.
 */
import type { Redis } from 'ioredis';
import type { Log } from '../../net/log.ts';
import { CONNECT_MS_MAX, PUBLISH_MS_MAX, type Broker } from './broker.ts';
import { within } from './deadline.ts';
import { connectRedis, goneReason, nameOf, redisServers, type RedisServer } from './redis-connection.ts';
import { findMaster } from './redis-sentinel.ts';
import { asMaster, byItself, inCluster, STANDING_EVERY_MS, watchStanding, type Standing } from './redis-standing.ts';
import type { RedisSettings } from './settings.ts';

/** A connection to the server that events go to, and what else ends with it. */
interface Connected {
  readonly client: Redis;
  readonly server: RedisServer;
  /** Resolves when the events should go elsewhere. */
  readonly changed?: Promise<Error>;
  /** What it must go on to be; null: it does not tell. */
  readonly standing: Standing | null;
  readonly close: () => void;
}

/** A server to try. As a last resort it is taken though it is not as it should be. */
interface Attempt {
  readonly server: RedisServer;
  readonly isLastResort: boolean;
}

/** One that answers, and is not as it should be. */
class Unfit extends Error {}

/** Of each adapter, which has its settings for good: the names of servers that were no replicas once. */
const mastersOf = new WeakMap<RedisSettings, Set<string>>();

/**
 * Connects to the first server, node or sentinel that takes us. What is published at a replica reaches its own
 * subscribers alone; a node of a cluster that calls it broken may be cut off from the others, or there may be no node
 * for some keys, which is nothing to us: such a one is taken when there is no other.
 * One that was right and is not any more, by its own word each `standingEveryMs`, is lost.
 */
export async function openRedis(
  settings: RedisSettings,
  log: Log,
  standingEveryMs = STANDING_EVERY_MS,
): Promise<Broker> {
  const attempts = redisServers(settings).map((server): Attempt => ({ server, isLastResort: false }));
  const deadlineMs = performance.now() + CONNECT_MS_MAX;
  const problems = new Set<string>();
  for (const [index, attempt] of attempts.entries()) {
    const msMax = (deadlineMs - performance.now()) / (attempts.length - index);
    try {
      return brokerOf(await connect(settings, attempt, msMax, log), standingEveryMs);
    } catch (error) {
      problems.add(error instanceof Error ? error.message : String(error));
      if (error instanceof Unfit && !attempt.isLastResort && settings.mode.type !== 'sentinel')
        attempts.push({ ...attempt, isLastResort: true });
    }
  }
  throw new Error([...problems].join(' '));
}

/** `msMax` is for all of it: each step of the several takes its share. */
async function connect(settings: RedisSettings, attempt: Attempt, msMax: number, log: Log): Promise<Connected> {
  const { server, isLastResort } = attempt;
  if (settings.mode.type !== 'sentinel') {
    const isClustered = settings.mode.type === 'cluster';
    const client = await connectRedis(server, msMax / 2, log);
    const standing = isClustered
      ? inCluster(!isLastResort)
      : byItself(nameOf(server), mastersSeen(settings), isLastResort);
    const isKnown = isLastResort && !isClustered; // it was asked when it was tried first
    const isWatched = isKnown || (await checked(client, server, msMax / 2, standing));
    return { client, server, standing: isWatched ? standing : null, close: () => client.disconnect() };
  }
  const shareMs = msMax / 4;
  const master = await findMaster(settings, settings.mode.group, server, shareMs, log);
  try {
    const client = await connectRedis(master.server, shareMs, log);
    const isWatched = await checked(client, master.server, shareMs, asMaster);
    return {
      client,
      server: master.server,
      changed: master.changed,
      standing: isWatched ? asMaster : null,
      close() {
        client.disconnect();
        master.close();
      },
    };
  } catch (error) {
    master.close();
    throw error;
  }
}

function mastersSeen(settings: RedisSettings): Set<string> {
  const seen = mastersOf.get(settings) ?? new Set();
  mastersOf.set(settings, seen);
  return seen;
}

/**
 * Whether it can be asked again later. Rejects, without the client, where the server is not what it should be, with an
 * Unfit where it said so.
 */
async function checked(client: Redis, server: RedisServer, msMax: number, standing: Standing): Promise<boolean> {
  const said = await within(
    msMax,
    standing(client),
    () => new Error(`it does not answer within ${Math.round(msMax)} ms`),
  ).catch((error: unknown) => goneReason(client, server, error));
  if (typeof said !== 'string' && said.problem === null) return said.isWatched;
  client.disconnect();
  const [Kind, problem] = typeof said === 'string' ? [Error, said] : [Unfit, said.problem];
  throw new Kind(`Redis at ${nameOf(server)} cannot be used: ${problem}.`);
}

function brokerOf({ client, server, changed, standing, close }: Connected, standingEveryMs: number): Broker {
  const name = `Redis at ${nameOf(server)}`;
  const lost = Promise.withResolvers<Error>();
  let isEnded = false;
  const endWatch =
    standing === null
      ? () => {}
      : watchStanding(client, standing, standingEveryMs, (problem) =>
          lost.resolve(new Error(`${name} is not used any more: ${problem}.`)),
        );
  client.on('end', () => {
    endWatch();
    if (!isEnded) lost.resolve(new Error(`The connection to ${name} is lost: ${goneReason(client, server)}.`));
  });
  void changed?.then((reason) => isEnded || lost.resolve(reason));
  return {
    lost: lost.promise,
    async publish(events) {
      const { stream } = client;
      stream.cork(); // one write for all: measured faster than the client's pipeline
      const answers = Promise.all(events.map((event) => client.publish(event.type, event.text)));
      stream.uncork();
      const problem = await within(
        PUBLISH_MS_MAX,
        answers,
        () => new Error(`it has not confirmed ${events.length} events within ${PUBLISH_MS_MAX} ms`),
      ).then(
        () => null,
        (error: unknown) => error,
      );
      // no cause: the client's errors hold the commands
      if (problem !== null) throw new Error(`${name} did not take the events: ${goneReason(client, server, problem)}.`);
    },
    async close() {
      isEnded = true;
      endWatch();
      close();
    },
  };
}
