/** Several real admins on one database, and a fleet of simulated agents that is spread over them. */
import { setTimeout as delay } from 'node:timers/promises';
import { withClient, type BenchServer, type DatabasePlace } from '../fleet/database.ts';
import { insertNodes } from '../fleet/nodes.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import { newAdminPlace, startAdmin, type AdminPlace, type AdminProcess } from './admin.ts';
import { placePeer } from './peers.ts';

/** Timeout of a state of the whole fleet, in ms: a newcomer gets nothing for its first minute. */
const STATE_MS_MAX = 240_000;

/** Between two looks, in ms. */
const LOOK_MS = 20;

/** A newcomer gets its share after so long, in place of a minute that each round would wait. */
const ADMIN_BALANCE_AFTER_MS = '5000';

/** One of the admins, over all of its runs. */
export interface NamedAdmin {
  readonly name: string;
  readonly place: AdminPlace;
  /** Null: it does not run now. */
  process: AdminProcess | null;
}

/** Admins of one database, without any agents. */
export interface AdminGroup {
  readonly database: DatabasePlace;
  readonly admins: readonly NamedAdmin[];
  /** Prepares one more; nothing of it runs. */
  add(): Promise<NamedAdmin>;
  /** The owner of each cluster that has one now, by name. */
  owners(): Promise<ReadonlyMap<string, string>>;
  /** Resolves when each cluster has an owner, and `isSo` of the owners. */
  owned(isSo?: (owners: ReadonlyMap<string, string>) => boolean): Promise<void>;
  /** Resolves when each admin that runs owns its share. */
  balanced(): Promise<void>;
  end(): Promise<void>;
}

/** They and a fleet. */
export interface SeveralAdmins extends AdminGroup {
  readonly agents: Worker;
  /** Resolves when all agents have a live session. */
  allLive(): Promise<void>;
}

/** How many there are, and of what. `name`: of the database, and the beginning of those of the admins. */
export interface SizeOfSeveral {
  readonly name: string;
  readonly count: number;
  readonly nodes: number;
  readonly perCluster: number;
}

/** Starts `count` admins and `nodes` agents, which are with their owners when this resolves. */
export async function startSeveral(postgres: BenchServer, size: SizeOfSeveral): Promise<SeveralAdmins> {
  const { nodes } = size;
  const group = await startGroup(postgres, size);
  const agents = await startWorker(new URL('agents.ts', import.meta.url));
  const several: SeveralAdmins = {
    ...group,
    agents,
    allLive: () => state('all agents', async () => (await agents.ask<{ live: number }>('counts')).live === nodes),
    async end() {
      await agents.end();
      await group.end();
    },
  };
  try {
    await agents.ask('connect', { ports: group.admins.map(({ place }) => place.port), nodes });
    await several.allLive();
    return several;
  } catch (error) {
    await several.end();
    throw error;
  }
}

/** Starts `count` admins, which own the clusters of `nodes` nodes when this resolves. */
export async function startGroup(
  postgres: BenchServer,
  { name, count, nodes, perCluster }: SizeOfSeveral,
): Promise<AdminGroup> {
  const database = await postgres.create(name);
  const first = await newAdminPlace(database);
  const admins: NamedAdmin[] = [];
  // Agents are told all of them, as an operator would set it.
  const urls: string[] = [];
  const add = async (): Promise<NamedAdmin> => {
    const named = `${name}-${admins.length + 1}`;
    const place = await placePeer(first, named);
    const url = `http://127.0.0.1:${place.port}`;
    urls.push(url);
    const env = () => ({ ...place.env, ADMIN_URLS: urls.join(','), ADMIN_OWN_URL: url, ADMIN_BALANCE_AFTER_MS });
    const added: NamedAdmin = {
      name: named,
      get place() {
        return { ...place, env: env() };
      },
      process: null,
    };
    admins.push(added);
    return added;
  };
  const owners = (): Promise<ReadonlyMap<string, string>> =>
    withClient(database, async (client) => {
      const { rows } = await client.query<{ cluster: string; admin: string }>(
        `select c.name as cluster, a.name as admin from cluster c join cluster_ownership w on w.cluster_id = c.id
        join admin a on a.id = w.admin_id where w.lease_until > clock_timestamp()`,
      );
      return new Map(rows.map(({ cluster, admin }) => [cluster, admin]));
    });
  const clusters = Math.ceil(nodes / perCluster);
  const group: AdminGroup = {
    database,
    admins,
    add,
    owners,
    owned: (isSo = () => true) =>
      state('an owner of each cluster', async () => {
        const found = await owners();
        return found.size === clusters && isSo(found);
      }),
    balanced: () =>
      group.owned((found) => {
        const running = admins.filter(({ process }) => process !== null);
        const countOf = (named: string): number => [...found.values()].filter((owner) => owner === named).length;
        return running.every((admin) => countOf(admin.name) >= Math.floor(clusters / running.length));
      }),
    async end() {
      await Promise.all(admins.flatMap((admin) => admin.process?.stop() ?? []));
    },
  };
  try {
    for (let place = 0; place < count; place += 1) await add();
    for (const admin of admins) admin.process = await startAdmin(admin.place);
    // Only now, so that nobody takes up all of it.
    await withClient(database, (client) => insertNodes(client, nodes, perCluster));
    await group.owned();
    return group;
  } catch (error) {
    await group.end();
    throw error;
  }
}

/** Waits for a state of the fleet. */
export async function state(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + STATE_MS_MAX;
  while (!(await isSo())) {
    if (performance.now() > untilMs) throw new Error(`${what}: not within ${STATE_MS_MAX / 1_000} s`);
    await delay(LOOK_MS);
  }
}
