/** A fleet under test, the floor's or the product's: all are driven and read in the same way. */
import { setTimeout as delay } from 'node:timers/promises';
import { cpuMs, rssBytes, treeCpuMs } from '../method/usage.ts';
import type { Sample, Side } from '../method/interleave.ts';
import type { Worker } from '../method/worker.ts';
import { withClient, type BenchServer, type DatabasePlace } from './database.ts';
import { verifyFanout } from './verification.ts';

/** A fan-out that takes longer has hung, in ms. */
const STALL_MS = 60_000;

/** Rest after a side is woken, in ms: what piled up while it slept is over then. */
const SETTLE_MS = 400;

/** Simulated agents, in a process of their own. */
export interface AgentPool {
  readonly worker: Worker;
  /** Counts confirms from zero. */
  expect(executions: number): Promise<void>;
  confirmed(): Promise<void>;
}

/** Server, agents and database of one side, connected and idle. */
export interface Contestant {
  readonly name: string;
  readonly serverPid: number;
  /** Of further servers that do their part. */
  readonly otherPids?: readonly number[];
  readonly agents: AgentPool;
  readonly database: DatabasePlace;
  readonly postgres: BenchServer;
  /** Creates one command for nodes 0 … nodes - 1; resolves when its creation is acknowledged. */
  create(nodes: number): Promise<void>;
  /** Stops its processes where they are, so that the other side has the machine. */
  pause(): void;
  resume(): void;
  end(): Promise<void>;
}

/**
 * One fan-out: from the request to the last result that is durable and confirmed to its agent, then checked by SQL
 * (untimed): `outputBytes` is what each execution must have given.
 */
export async function fanOut(side: Contestant, nodes: number, outputBytes = 200): Promise<Sample> {
  await side.agents.expect(nodes);
  const cpuUsed = startCpuReading(side);
  const began = performance.now();
  await side.create(nodes);
  const createdMs = performance.now() - began;
  await Promise.race([side.agents.confirmed(), stalled(side)]);
  const seconds = (performance.now() - began) / 1_000;
  const cpu = cpuUsed();
  await verifyFanout(side.database, nodes, outputBytes);
  return {
    seconds,
    readings: {
      created_ms: createdMs,
      cpu_ms: cpu.server_cpu_ms + cpu.agents_cpu_ms + cpu.postgres_cpu_ms,
      ...cpu,
      server_rss_mib: rssBytes(side.serverPid) / 1_048_576,
    },
  };
}

/** A side for `interleave`, asleep while others run when `sleeps`: ten thousand idle agents still ping. */
export function asSide(contestant: Contestant, run: () => Promise<Sample>, sleeps: boolean): Side {
  if (!sleeps) return { name: contestant.name, run };
  return {
    name: contestant.name,
    enter: async () => {
      contestant.resume();
      await withClient(contestant.database, (client) => client.query('checkpoint'));
      await delay(SETTLE_MS);
    },
    run,
    leave: async () => contestant.pause(),
  };
}

/** Rejects when a fan-out does not end, with what was found: a bench that hangs tells nothing. */
async function stalled(side: Contestant): Promise<never> {
  await delay(STALL_MS, undefined, { ref: false });
  const { rows } = await withClient(side.database, (client) =>
    client.query(`select status, count(*) from command_execution group by status`),
  );
  throw new Error(
    `${side.name}: no end after ${STALL_MS / 1_000} s. Rows: ${JSON.stringify(rows)}. Agents: ${JSON.stringify(await side.agents.worker.ask('counts'))}`,
  );
}

/** Processor time that one side used for something, in ms. */
export interface CpuUsed {
  readonly server_cpu_ms: number;
  readonly agents_cpu_ms: number;
  readonly postgres_cpu_ms: number;
}

/** Starts to read what these processes use: call what it answers at the end. */
export function startCpuReading(
  side: Pick<Contestant, 'serverPid' | 'otherPids' | 'postgres'> & { readonly agents: Pick<AgentPool, 'worker'> },
): () => CpuUsed {
  const read = (): CpuUsed => ({
    server_cpu_ms: [side.serverPid, ...(side.otherPids ?? [])].reduce((sum, pid) => sum + cpuMs(pid), 0),
    agents_cpu_ms: cpuMs(side.agents.worker.pid),
    postgres_cpu_ms: treeCpuMs(side.postgres.pid),
  });
  const before = read();
  return () => {
    const after = read();
    return {
      server_cpu_ms: after.server_cpu_ms - before.server_cpu_ms,
      agents_cpu_ms: after.agents_cpu_ms - before.agents_cpu_ms,
      postgres_cpu_ms: after.postgres_cpu_ms - before.postgres_cpu_ms,
    };
  };
}
