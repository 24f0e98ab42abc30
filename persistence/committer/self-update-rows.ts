/** Self-update requests as rows: created with all of their nodes, then moved step by step. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { SelfUpdateNodeState, SelfUpdateStatus, SelfUpdateSummary } from '../../actors/resources/self-update.ts';
import { ANSWER_MS_MAX, OPEN_SELF_UPDATES_MAX, SELF_UPDATE_STEP_NODES_MAX } from '../../actors/self-update/limits.ts';
import { completedEvent } from '../../actors/self-update/transition.ts';
import type { SelfUpdateColdWrite } from '../../actors/self-update/writes.ts';
import { selfUpdateRecord, type SelfUpdateRow } from '../loader/self-updates.ts';
import { SELF_UPDATES_CREATED } from '../publishing/names.ts';
import { plainArray } from './arrays.ts';
import { GuardRefused, NOTHING_TO_TELL, type Written } from './written.ts';

type Created = Extract<SelfUpdateColdWrite, { kind: 'self-update-created' }>;
type Moved = Extract<SelfUpdateColdWrite, { kind: 'self-update-moved' }>;

/** Advisory lock under which open requests are counted: those that are created at once wait for each other. */
const OPEN_LOCK = '5817260942117463120';

/** Writes one of them. `adminId` does it: whoever moves requests is told of a new one. */
export function writeSelfUpdate(em: EntityManager, write: SelfUpdateColdWrite, adminId: string): Promise<Written> {
  return write.kind === 'self-update-created' ? createRequest(em, write, adminId) : moveRequest(em, write);
}

async function createRequest(em: EntityManager, { request, targets }: Created, adminId: string): Promise<Written> {
  const at = new Date(request.insertedAtMs);
  const isOver = targets.length === 0;
  if (!isOver) await refuseTooMany(em);
  await em.execute(
    `insert into self_update_request (id, targeting, batch_size, max_failures, health_timeout_ms, status, total, triggered, failed, completed_at, inserted_at, updated_at)
     values (?, ?::jsonb, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      request.id,
      JSON.stringify(request.targeting),
      request.batchSize,
      request.maxFailures,
      request.healthTimeoutMs,
      isOver ? 'completed' : 'pending',
      targets.length,
      isOver ? 0 : null,
      isOver ? 0 : null,
      isOver ? at : null,
      at,
      at,
    ],
  );
  if (isOver) return NOTHING_TO_TELL;
  // nodes have their turn by their ids (makeDue), so that a wave is over before the next one begins
  await em.execute(
    `insert into self_update_node (request_id, node_id, cluster_name, from_version, wave)
     select ?::uuid, v.node, v.cluster, n.version, case when ?::int is null then 1 else (row_number() over (order by v.node) - 1) / ?::int + 1 end from unnest(?::uuid[], ?::text[]) as v (node, cluster) left join node n on n.id = v.node`,
    [
      request.id,
      request.batchSize,
      request.batchSize,
      plainArray(targets.map(({ node }) => node)),
      plainArray(targets.map(({ clusterName }) => clusterName)),
    ],
  );
  await em.execute('select pg_notify(?, ?)', [SELF_UPDATES_CREATED, `${adminId} ${request.id}`]);
  return NOTHING_TO_TELL;
}

async function refuseTooMany(em: EntityManager): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(?::bigint)', [OPEN_LOCK]);
  const [row] = await em.execute<{ count: number }[]>(
    `select count(*)::int as count from self_update_request where status <> 'completed'`,
  );
  if ((row?.count ?? 0) >= OPEN_SELF_UPDATES_MAX)
    throw new GuardRefused({
      code: 'conflict',
      message: `${OPEN_SELF_UPDATES_MAX} self-update requests are not completed yet. Wait until one is.`,
    });
}

/** The lock and the revision make moves follow each other: one that was counted before another one is refused. */
async function moveRequest(em: EntityManager, { request, revision, move, atMs }: Moved): Promise<Written> {
  const [row] = await em.execute<(SelfUpdateRow & { revision: number; status: SelfUpdateStatus })[]>(
    `select id, targeting, batch_size, max_failures, health_timeout_ms, inserted_at, revision, status from self_update_request where id = ? for update`,
    [request],
  );
  if (row === undefined) throw new GuardRefused({ code: 'not_found', message: 'Resource not found' });
  if (row.revision !== revision || row.status === 'completed') throw new GuardRefused(MOVED);
  switch (move.type) {
    case 'judge':
      await judge(em, row);
      break;
    case 'due':
      await makeDue(em, request, move.nodes);
      break;
    case 'halt':
      await halt(em, request);
      break;
    case 'begin':
      break;
    case 'complete':
      return complete(em, row, atMs);
    default:
      throw new Error(`no such move: ${JSON.stringify(move satisfies never)}`);
  }
  const status = move.type === 'begin' ? 'processing' : row.status;
  await em.execute('update self_update_request set revision = revision + 1, status = ?, updated_at = ? where id = ?', [
    status,
    new Date(atMs),
    request,
  ]);
  return NOTHING_TO_TELL;
}

const MOVED = { code: 'conflict', message: 'Another admin moved the request meanwhile.' } as const;

/** Nodes of this request whose rows are in the given states, locked in the order of their ids. */
const LOCKED = `select x.request_id, x.node_id from self_update_node x where x.request_id = ?`;

/**
 * What the database's clock, and nodes that are gone, make of the rows (O2). A node that is enrolled anew is another
 * agent, whose rows were skipped by its enrolment.
 */
async function judge(em: EntityManager, row: SelfUpdateRow): Promise<void> {
  const limit = SELF_UPDATE_STEP_NODES_MAX;
  await em.execute(
    `with gone as (${LOCKED} and x.judged_at is null and x.state in ('waiting', 'due', 'triggered', 'updated') and not exists (select from node n where n.id = x.node_id) order by x.node_id limit ? for update)
     update self_update_node u set judged_at = clock_timestamp(), finished_at = coalesce(u.finished_at, clock_timestamp()),
       state = case when u.state in ('waiting', 'due') then 'skipped' else u.state end, error = case when u.state = 'updated' then u.error else 'the node was deleted' end
     from gone g where u.request_id = g.request_id and u.node_id = g.node_id`,
    [row.id, limit],
  );
  await em.execute(
    `with late as (${LOCKED} and x.state = 'due' and x.due_at < clock_timestamp() - ?::int * interval '1 ms' order by x.node_id limit ? for update)
     update self_update_node u set state = 'failed', error = ?, finished_at = clock_timestamp()
     from late l where u.request_id = l.request_id and u.node_id = l.node_id`,
    [row.id, ANSWER_MS_MAX, limit, `no answer within ${ANSWER_MS_MAX / 1_000} s of its turn`],
  );
  if (row.batch_size === null) return;
  const longAgo = `x.triggered_at < clock_timestamp() - ${row.health_timeout_ms} * interval '1 ms'`;
  await em.execute(
    `with done as (
       select x.request_id, x.node_id, n.status = 'healthy' as is_well, n.status from self_update_node x join node n on n.id = x.node_id
       where x.request_id = ? and x.judged_at is null and x.state in ('triggered', 'updated') and (${longAgo} or x.state = 'updated' and n.status = 'healthy')
       order by x.node_id limit ? for update of x)
     update self_update_node u set judged_at = clock_timestamp(), state = case when d.is_well then u.state else 'failed' end,
       finished_at = case when d.is_well then u.finished_at else clock_timestamp() end,
       error = case when d.is_well then u.error else ?::text || d.status end
     from done d where u.request_id = d.request_id and u.node_id = d.node_id`,
    [row.id, limit, `not healthy ${row.health_timeout_ms / 1_000} s after the update: `],
  );
}

/** In the order of their waves. Their version now is the one before the update. */
async function makeDue(em: EntityManager, request: string, nodes: number): Promise<void> {
  await em.execute(
    `with next as (${LOCKED} and x.state = 'waiting' order by x.node_id limit ? for update)
     update self_update_node u set state = 'due', due_at = clock_timestamp(), from_version = coalesce((select n.version from node n where n.id = u.node_id), u.from_version)
     from next x where u.request_id = x.request_id and u.node_id = x.node_id`,
    [request, nodes],
  );
}

async function halt(em: EntityManager, request: string): Promise<void> {
  await em.execute(
    `with next as (${LOCKED} and x.state = 'waiting' order by x.node_id limit ? for update)
     update self_update_node u set state = 'skipped', error = 'too many nodes failed before its turn', finished_at = clock_timestamp()
     from next x where u.request_id = x.request_id and u.node_id = x.node_id`,
    [request, SELF_UPDATE_STEP_NODES_MAX],
  );
}

/** The event tells what the rows say: nothing of them moves any more while this one is open. */
async function complete(em: EntityManager, row: SelfUpdateRow, atMs: number): Promise<Written> {
  const counts = await em.execute<{ state: SelfUpdateNodeState; count: number }[]>(
    'select state, count(*)::int as count from self_update_node where request_id = ? group by state',
    [row.id],
  );
  const of = (...states: readonly SelfUpdateNodeState[]): number =>
    counts.filter(({ state }) => states.includes(state)).reduce((sum, { count }) => sum + count, 0);
  if (of('waiting', 'due') > 0) throw new GuardRefused(MOVED);
  const summary: SelfUpdateSummary = {
    total: counts.reduce((sum, { count }) => sum + count, 0),
    triggered: of('triggered', 'updated', 'rolled_back'),
    failed: of('failed'),
  };
  const at = new Date(atMs);
  await em.execute(
    `update self_update_request set revision = revision + 1, status = 'completed', triggered = ?, failed = ?, completed_at = ?, updated_at = ? where id = ?`,
    [summary.triggered, summary.failed, at, at, row.id],
  );
  return { notices: [], events: [completedEvent(selfUpdateRecord(row), summary, atMs)] };
}
