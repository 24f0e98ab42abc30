/**
 * `updates`: what a request for an update does to a fleet, by the kind of the release. `simulated`: a thousand agents
 * in four batches, good ones and such as crash, hang, cannot connect or are lost. `machines`: real agents with real
 * updaters, one after the other.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { startBenchServer, withClient, type DatabasePlace } from '../fleet/database.ts';
import { insertNodes } from '../fleet/nodes.ts';
import { quantile } from '../method/statistics.ts';
import { newAdminPlace, startAdmin, type AdminProcess } from '../product/admin.ts';
import { UpdatingAgents, type ReleaseKind } from '../product/updating-agents.ts';
import { machines } from './updates-of-machines.ts';
import type { CaseOptions } from './options.ts';

const NODES = 1_000;
const BATCHES = 4;
const MAX_FAILURES = 5;

/** Seconds until a node must be healthy again, where no agent comes back. */
const HEALTH_TIMEOUT_S = 1;

/** Between two looks at the request, in ms. */
const LOOK_MS = 20;

/** In this order: those that are taken back leave the fleet as it was. */
const RELEASES: readonly ReleaseKind[] = ['crashes', 'hangs', 'cannot-connect', 'good', 'lost'];

interface Request {
  readonly id: string;
  readonly status: string;
  readonly summary: { readonly total: number; readonly triggered: number; readonly failed: number } | null;
}

/** Both parts, or those that are named. */
export async function updates(options: CaseOptions): Promise<void> {
  const isWanted = (part: string) => options.names.length === 0 || options.names.includes(part);
  if (isWanted('simulated')) await simulated(options);
  if (isWanted('machines')) await machines(options);
}

async function simulated(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const postgres = await startBenchServer();
  try {
    const database = await postgres.create('fleet');
    await withClient(database, (client) => insertNodes(client, nodes));
    const admin = await startAdmin(await newAdminPlace(database));
    const agents = new UpdatingAgents(admin.port);
    try {
      await agents.connect(nodes);
      for (const release of RELEASES) await measured(options, { database, admin, agents, nodes }, release);
    } finally {
      agents.close();
      await admin.stop();
    }
  } finally {
    await postgres.stop();
  }
}

interface Fleet {
  readonly database: DatabasePlace;
  readonly admin: AdminProcess;
  readonly agents: UpdatingAgents;
  readonly nodes: number;
}

async function measured({ report }: CaseOptions, fleet: Fleet, release: ReleaseKind): Promise<void> {
  const { database, admin, agents, nodes } = fleet;
  const batch = Math.ceil(nodes / BATCHES);
  await until(() => isHealthy(database, nodes));
  agents.release = release;
  agents.asked = 0;
  const began = performance.now();
  const { id } = await admin.http.call<Request>('POST', '/self_update_requests', {
    targeting: { type: 'all' },
    batch_size: batch,
    ...(release !== 'good' && { max_failures: MAX_FAILURES }),
    ...(release === 'lost' && { health_timeout: HEALTH_TIMEOUT_S }),
  });
  if (release === 'lost') {
    await until(() => Promise.resolve(agents.asked >= batch));
    agents.close();
    await makeUnreachable(database);
  }
  let request = await admin.http.call<Request>('GET', `/self_update_requests/${id}`);
  while (request.status !== 'completed') {
    await wait(LOOK_MS);
    request = await admin.http.call<Request>('GET', `/self_update_requests/${id}`);
  }
  const waits = await triggerSeconds(database, id);
  const counts = await statuses(database, id);
  const isOk = release === 'good' ? counts['updated'] === nodes : agents.asked <= batch + MAX_FAILURES;
  report.add({
    case: 'updates',
    side: `simulated, ${release}`,
    nodes,
    seconds: (performance.now() - began) / 1_000,
    ratio: null,
    touched: agents.asked,
    updated: counts['updated'] ?? 0,
    rolled_back: counts['rolled_back'] ?? 0,
    failed: counts['failed'] ?? 0,
    skipped: counts['skipped'] ?? 0,
    trigger_p50: waits.length > 0 ? quantile(waits, 0.5) : null,
    trigger_p99: waits.length > 0 ? quantile(waits, 0.99) : null,
    verdict: isOk ? 'met' : 'missed',
  });
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await wait(LOOK_MS);
}

function isHealthy(database: DatabasePlace, nodes: number): Promise<boolean> {
  return withClient(database, async (client) => {
    const { rows } = await client.query<{ n: number }>(
      `select count(*)::int as n from node where status = 'healthy' and self_update_enabled`,
    );
    return rows[0]?.n === nodes;
  });
}

/** As the silence of 30 s makes them, without the wait. */
function makeUnreachable(database: DatabasePlace): Promise<void> {
  return withClient(database, async (client) => {
    await client.query(`update node set status = 'unreachable'`);
  });
}

/** How many nodes of a request came to what. */
function statuses(database: DatabasePlace, request: string): Promise<Readonly<Record<string, number>>> {
  return withClient(database, async (client) => {
    const { rows } = await client.query<{ status: string; n: number }>(
      'select state as status, count(*)::int as n from self_update_node where request_id = $1 group by state',
      [request],
    );
    return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
  });
}

/** From due to triggered, of each node. */
function triggerSeconds(database: DatabasePlace, request: string): Promise<readonly number[]> {
  return withClient(database, async (client) => {
    const { rows } = await client.query<{ s: number }>(
      'select extract(epoch from triggered_at - due_at)::float8 as s from self_update_node where triggered_at is not null and request_id = $1',
      [request],
    );
    return rows.map(({ s }) => s);
  });
}
