/** The product as a contestant: the real admin, and simulated agents that run the real agent's session code. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withClient, type BenchServer } from '../fleet/database.ts';
import { startCpuReading, type Contestant, type CpuUsed } from '../fleet/contestant.ts';
import { insertNodes } from '../fleet/nodes.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import { newAdminPlace, startAdmin, type AdminPlace, type AdminProcess } from './admin.ts';

/** Rest before a profile, in ms: what piled up while the product slept is over then. */
const CATCH_UP_MS = 3_000;

/** The product with what its cases need beyond a contestant. */
export interface Product extends Contestant {
  readonly admin: AdminProcess;
  readonly place: AdminPlace;
  /** From the first dial to the last welcome. */
  readonly connectSeconds: number;
  /** In that time: of which process the others wait. */
  readonly connectCpu: CpuUsed;
  create(nodes: number): Promise<void>;
}

/** Runs `work` once more under the profiler of the admin, untimed, when a directory is given. */
export async function profiled(
  product: Product | undefined,
  directory: string | undefined,
  name: string,
  work: () => Promise<unknown>,
): Promise<void> {
  if (product === undefined || directory === undefined) return;
  await mkdir(directory, { recursive: true });
  product.resume();
  const inspector = await product.admin.inspect();
  await delay(CATCH_UP_MS);
  await inspector.profile(join(directory, `${name}.cpuprofile`), work);
  inspector.close();
}

/** How the product takes part. */
export interface ProductOptions {
  /** Of its database. */
  readonly name?: string;
  /** Real ones have a journal on disk and run scripts. */
  readonly agents?: 'simulated' | 'real';
  /** Nodes after those, which have no agent yet. */
  readonly more?: number;
  /** Further settings of the admin. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called when the admin is ready. */
  readonly beforeAgents?: (admin: AdminProcess) => Promise<void>;
}

/** Starts the product with `nodes` enrolled and connected agents on a database of its own. */
export async function startProduct(
  postgres: BenchServer,
  nodes: number,
  { name = 'product', agents: kind = 'simulated', more = 0, env, beforeAgents }: ProductOptions = {},
): Promise<Product> {
  const database = await postgres.create(name);
  await withClient(database, (client) => insertNodes(client, nodes + more));
  const place = await newAdminPlace(database, env);
  const admin = await startAdmin(place);
  let worker: Worker | undefined;
  try {
    await beforeAgents?.(admin);
    const agents = (worker = await startWorker(
      new URL(kind === 'real' ? 'real-agents.ts' : 'agents.ts', import.meta.url),
    ));
    const cpuUsed = startCpuReading({ serverPid: admin.pid, agents: { worker: agents }, postgres });
    const connectSeconds = await agents.ask<number>('connect', { port: admin.port, nodes });
    const connectCpu = cpuUsed();
    return {
      name: 'product',
      serverPid: admin.pid,
      database,
      postgres,
      connectSeconds,
      connectCpu,
      admin,
      place,
      agents: {
        worker: agents,
        expect: (executions) => agents.ask('expect', executions),
        confirmed: () => agents.ask('confirmed'),
      },
      create: async () =>
        void (await admin.http.call('POST', '/commands', { command_text: 'true', targeting: { type: 'all' } })),
      pause: () => {
        admin.signal('SIGSTOP');
        agents.pause();
      },
      resume: () => {
        admin.signal('SIGCONT');
        agents.resume();
      },
      end: async () => {
        await agents.end();
        await admin.stop();
      },
    };
  } catch (error) {
    await worker?.end();
    await admin.kill();
    throw error;
  }
}
