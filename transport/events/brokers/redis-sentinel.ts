/** Redis Sentinel: several servers that watch a master and agree on another when it is gone. */
import type { Redis } from 'ioredis';
import type { Log } from '../../net/log.ts';
import { connectRedis, goneReason, masterLogin, nameOf, type RedisServer } from './redis-connection.ts';
import type { RedisSettings } from './settings.ts';

/**
 * What sentinels publish when a group has another master: its name and both addresses. Source: Redis documentation,
 * Pub/Sub messages of Sentinel.
 */
const SWITCHED = '+switch-master';

/** The master as one sentinel knows it, and the connection to that sentinel, which is watched from now on. */
export interface FoundMaster {
  readonly server: RedisServer;
  /** Resolves when the group has another master, or when this sentinel can no longer tell. */
  readonly changed: Promise<Error>;
  readonly close: () => void;
}

/** Asks one sentinel for the master of the group. Rejects with an Error for an operator. */
export async function findMaster(
  settings: RedisSettings,
  group: string,
  sentinel: RedisServer,
  msMax: number,
  log: Log,
): Promise<FoundMaster> {
  const client = await connectRedis(sentinel, msMax, log);
  const changed = Promise.withResolvers<Error>();
  client.on('message', (_, text: string) => {
    if (text.startsWith(`${group} `))
      changed.resolve(new Error(`The sentinel at ${nameOf(sentinel)} says that ${group} has another master.`));
  });
  client.on('end', () =>
    changed.resolve(new Error(`The sentinel at ${nameOf(sentinel)}, which tells of another master, is gone.`)),
  );
  const found = await masterOf(client, group).catch((error: unknown) => goneReason(client, sentinel, error));
  if (typeof found !== 'string') {
    return {
      server: { ...found, isEncrypted: sentinel.isEncrypted, ...masterLogin(settings) },
      changed: changed.promise,
      close: () => client.disconnect(),
    };
  }
  client.disconnect();
  throw new Error(`The sentinel at ${nameOf(sentinel)} cannot be used: ${found}.`);
}

async function masterOf(client: Redis, group: string): Promise<Pick<RedisServer, 'host' | 'port'>> {
  const found = (await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', group)) as readonly [string, string] | null;
  if (found === null) throw new Error(`it knows no master of the name in EVENT_BROKER_REDIS_SENTINEL_GROUP (${group})`);
  await client.subscribe(SWITCHED);
  return { host: found[0], port: Number(found[1]) };
}
