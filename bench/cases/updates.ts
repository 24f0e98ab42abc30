/**
 * `updates`: simulated agents in four batches: how long a request takes, and how long a node from its turn to its
 * trigger. Then a release of which no agent comes back: it touches no more than one batch and `max_failures`.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { startBenchServer, withClient, type DatabasePlace } from '../fleet/database.ts';
import { insertNodes } from '../fleet/nodes.ts';
import { quantile } from '../method/statistics.ts';
import { newAdminPlace, startAdmin } from '../product/admin.ts';
import { UpdatingAgents } from '../product/updating-agents.ts';
import type { CaseOptions } from './options.ts';

const NODES = 1_000;
const BATCHES = 4;
const MAX_FAILURES = 5;

/** Seconds until a node must be healthy again, where no agent comes back. */
const HEALTH_TIMEOUT_S = 1;

/** Between two looks at the request, in ms. */
const LOOK_MS = 20;

interface Request {
  readonly id: string;
  readonly status: string;
  readonly summary: { readonly total: number; readonly triggered: number; readonly failed: number } | null;
}

/** Both requests, each on a fleet of its own. */
export async function updates(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const postgres = await startBenchServer();
  try {
    for (const isGood of [true, false]) {
      const database = await postgres.create(isGood ? 'good' : 'bad');
      await withClient(database, (client) => insertNodes(client, nodes));
      await measured(options, database, nodes, isGood);
    }
  } finally {
    await postgres.stop();
  }
}

async function measured({ report }: CaseOptions, database: DatabasePlace, nodes: number, isGood: boolean) {
  const batch = Math.ceil(nodes / BATCHES);
  const admin = await startAdmin(await newAdminPlace(database));
  const agents = new UpdatingAgents(admin.port, isGood);
  try {
    await agents.connect(nodes);
    await until(() => isHealthy(database, nodes));
    const began = performance.now();
    const { id } = await admin.http.call<Request>('POST', '/self_update_requests', {
      targeting: { type: 'all' },
      batch_size: batch,
      ...(!isGood && { max_failures: MAX_FAILURES, health_timeout: HEALTH_TIMEOUT_S }),
    });
    // Agents of a bad release go away once they have answered, for good.
    if (!isGood) await until(() => Promise.resolve(agents.asked >= Math.min(batch, nodes)));
    if (!isGood) agents.close();
    if (!isGood) await makeUnreachable(database);
    let request = await admin.http.call<Request>('GET', `/self_update_requests/${id}`);
    while (request.status !== 'completed') {
      await wait(LOOK_MS);
      request = await admin.http.call<Request>('GET', `/self_update_requests/${id}`);
    }
    const waits = await triggerSeconds(database);
    report.add({
      case: 'updates',
      side: isGood ? 'good release' : 'bad release',
      nodes,
      seconds: (performance.now() - began) / 1_000,
      touched: agents.asked,
      failed: request.summary?.failed ?? -1,
      ...(waits.length > 0 && { trigger_p50: quantile(waits, 0.5), trigger_p99: quantile(waits, 0.99) }),
      ok: isGood ? request.summary?.triggered === nodes : agents.asked <= batch + MAX_FAILURES,
    } as never);
  } finally {
    agents.close();
    await admin.stop();
  }
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

/** From due to triggered, of each node. */
function triggerSeconds(database: DatabasePlace): Promise<readonly number[]> {
  return withClient(database, async (client) => {
    const { rows } = await client.query<{ s: number }>(
      'select extract(epoch from triggered_at - due_at)::float8 as s from self_update_node where triggered_at is not null',
    );
    return rows.map(({ s }) => s);
  });
}
