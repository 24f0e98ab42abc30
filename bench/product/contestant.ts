/** The product as a contestant: the real admin, and simulated agents that run the real agent's session code. */
import { withClient, type BenchServer } from '../fleet/database.ts';
import type { Contestant } from '../fleet/contestant.ts';
import { insertNodes } from '../fleet/nodes.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import { newAdminPlace, startAdmin, type AdminPlace, type AdminProcess } from './admin.ts';

/** The product with what its cases need beyond a contestant. */
export interface Product extends Contestant {
  readonly admin: AdminProcess;
  readonly place: AdminPlace;
  /** From the first dial to the last welcome. */
  readonly connectSeconds: number;
  create(nodes: number): Promise<void>;
}

/** Starts the product with `nodes` enrolled and connected agents on a database of its own. */
export async function startProduct(postgres: BenchServer, nodes: number, profileDir?: string): Promise<Product> {
  const database = await postgres.create(`product_${nodes}`);
  await withClient(database, (client) => insertNodes(client, nodes));
  const place = await newAdminPlace(database);
  const admin = await startAdmin(place, profileDir);
  let worker: Worker | undefined;
  try {
    const agents = worker = await startWorker(new URL('agents.ts', import.meta.url));
    const connectSeconds = await agents.ask<number>('connect', { port: admin.port, nodes });
    return {
      name: 'product', serverPid: admin.pid, database, postgres, connectSeconds, admin, place,
      agents: { worker: agents, expect: (executions) => agents.ask('expect', executions), confirmed: () => agents.ask('confirmed') },
      create: async () => void await admin.http.call('POST', '/commands', { command_text: 'true', targeting: { type: 'all' } }),
      pause: () => { admin.signal('SIGSTOP'); agents.pause(); },
      resume: () => { admin.signal('SIGCONT'); agents.resume(); },
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
