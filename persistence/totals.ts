/**
 * What the rows come to as a whole, for metrics. Counted within time limits, each total on its own, so that a slow one
 * costs itself and nobody waits for it.
 */
import type { Pool } from 'pg';
import type { OwnedClusterResource } from '../actors/resources/peer-admin.ts';
import { NODE_STATUSES, type NodeStatus } from '../actors/resources/node.ts';
import type { SelfUpdateTotals } from '../actors/resources/self-update.ts';
import { BROKER_CHANNEL, WEBHOOKS_CHANNEL } from './publishing/names.ts';
import { BEHIND_CHANNEL } from './reads/events.ts';
import { heartbeats, ownedClusters, type Heartbeat } from './reads/peer-admins.ts';
import { rowsOf, sql, type Sql } from './reads/sql.ts';
import { SELF_UPDATE_TOTALS, selfUpdateTotals, type SelfUpdateTotalsRow } from './reads/self-update-totals.ts';
import { taskHolders, type TaskHolder } from './reads/task-holders.ts';
import { timedReads } from './connections/timed-reads.ts';

/** The server gives up counting one total after this, in ms. */
export const TOTAL_MS_MAX = 500;

/** No total is begun later than this after the first, in ms. */
const TOTALS_MS_MAX = 1_200;

/**
 * Events and deliveries are counted up to this: it is known then that they are too many, and counting millions costs
 * seconds.
 */
export const COUNTED_MAX = 100_000;

/** Totals of the whole database, whichever admin asks. Null: it took too long to count. */
export interface Totals {
  readonly nodes: Readonly<Record<NodeStatus, number>> | null;
  /** Those that are open. */
  readonly executions: Readonly<Record<'pending' | 'sent', number>> | null;
  /** Events that a channel has not taken yet, up to COUNTED_MAX. */
  readonly webhooksBacklog: number | null;
  readonly brokerBacklog: number | null;
  /** Deliveries to webhooks that are not finished, up to COUNTED_MAX. */
  readonly deliveriesPending: number | null;
  /** Sessions of the console; those that are over are swept within a minute. */
  readonly consoleSessions: number | null;
  /** Until when what is published of releases holds (Unix ms, null: nothing is), and what all files of them take. */
  readonly releases: { readonly expiresAtMs: number | null; readonly storedBytes: number } | null;
  readonly selfUpdates: SelfUpdateTotals | null;
  /** Who does what one admin does at a time. */
  readonly tasks: readonly TaskHolder[] | null;
  /** All admins that are listed. */
  readonly admins: readonly Heartbeat[] | null;
  /** What the admin that asks owns: its clusters by name, at most OWNED_CLUSTERS_MAX. */
  readonly owned: readonly OwnedClusterResource[] | null;
}

/**
 * Counts, one total after another. Without a broker its backlog is null. Rejects with DatabaseUnavailable when the
 * database is away.
 */
export async function readTotals(pool: Pool, hasBroker: boolean, adminId: string): Promise<Totals> {
  const read = timedReads(pool, 'counting for metrics', { eachMs: TOTAL_MS_MAX, allMs: TOTALS_MS_MAX });
  const count = <T extends object>(query: Sql): Promise<readonly T[] | null> =>
    read((client) => rowsOf<T>(client, 'counting for metrics', query));

  const nodes = await count<{ status: NodeStatus; count: number }>(
    sql`select status, count(*)::int as count from node group by status`,
  );
  const [executions] =
    (await count<{ pending: number; sent: number }>(sql`
    select (count(*) filter (where status = 'pending'))::int as pending, (count(*) filter (where status = 'sent'))::int as sent from command_execution where finished_at is null`)) ??
    [];
  // Without a webhook nothing is routed, and nothing waits: the first one starts the channel at itself.
  const [waiting] =
    (await count<Pick<Totals, 'webhooksBacklog' | 'brokerBacklog' | 'deliveriesPending' | 'consoleSessions'>>(sql`
    select (select count(*) from (${eventsBehind(WEBHOOKS_CHANNEL)} and exists (select from webhook) limit ${COUNTED_MAX}::int) events)::int as "webhooksBacklog",
      case when ${hasBroker}::boolean then (select count(*) from (${eventsBehind(BROKER_CHANNEL)} limit ${COUNTED_MAX}::int) events)::int end as "brokerBacklog",
      (select count(*) from (select from webhook_delivery where status = 'pending' limit ${COUNTED_MAX}::int) deliveries)::int as "deliveriesPending",
      (select count(*) from console_session)::int as "consoleSessions"`)) ?? [];
  const [updates] = (await count<SelfUpdateTotalsRow>(SELF_UPDATE_TOTALS)) ?? [];
  return {
    nodes: nodes === null ? null : { ...NO_NODES, ...Object.fromEntries(nodes.map((row) => [row.status, row.count])) },
    executions: executions ?? null,
    tasks: await count<TaskHolder>(taskHolders(hasBroker)),
    ...(waiting ?? { webhooksBacklog: null, brokerBacklog: null, deliveriesPending: null, consoleSessions: null }),
    releases: (await count<NonNullable<Totals['releases']>>(RELEASES))?.[0] ?? null,
    selfUpdates: updates === undefined ? null : selfUpdateTotals(updates),
    admins: await read((client) => heartbeats(client)),
    owned: await read((client) => ownedClusters(client, adminId)),
  };
}

const RELEASES = sql`
  select (select (extract(epoch from min(expires_at)) * 1000)::float8 from (select distinct on (role) expires_at from release_metadata order by role, version desc) latest) as "expiresAtMs",
    (select coalesce(sum(bytes), 0)::float8 from release_file) as "storedBytes"`;

function eventsBehind(channel: string): Sql {
  return sql`select from event_channel c join event e on ${BEHIND_CHANNEL} where c.name = ${channel}`;
}

const NO_NODES = Object.fromEntries(NODE_STATUSES.map((status) => [status, 0])) as Record<NodeStatus, number>;
