/** The floor as a contestant: bare server and bare agents, one process each. */
import type { BenchServer } from '../fleet/database.ts';
import { startCpuReading, type Contestant, type CpuUsed } from '../fleet/contestant.ts';
import type { SustainedLoad, SustainedResult } from '../method/sustained.ts';
import { startWorker } from '../method/worker.ts';

/** The floor with what its cases need beyond a contestant. */
export interface Floor extends Contestant {
  /** From the first dial to the last open connection. */
  readonly connectSeconds: number;
  /** In that time. */
  readonly connectCpu: CpuUsed;
  sustain(load: SustainedLoad): Promise<SustainedResult>;
}

/**
 * Starts the floor with `nodes` connected agents on a database of its own. Agents that are `real` run scripts with
 * /bin/sh.
 */
export async function startFloor(
  postgres: BenchServer,
  nodes: number,
  agents: 'simulated' | 'real' = 'simulated',
): Promise<Floor> {
  const database = await postgres.create('floor');
  const server = await startWorker(new URL('server.ts', import.meta.url));
  const worker = await startWorker(new URL('agents.ts', import.meta.url));
  const port = await server.ask<number>('start', database);
  const cpuUsed = startCpuReading({ serverPid: server.pid, agents: { worker }, postgres });
  const connectSeconds = await worker.ask<number>('connect', { port, nodes, isReal: agents === 'real' });
  const connectCpu = cpuUsed();
  return {
    name: 'floor',
    serverPid: server.pid,
    database,
    postgres,
    connectSeconds,
    connectCpu,
    agents: {
      worker,
      expect: (executions) => worker.ask('expect', executions),
      confirmed: () => worker.ask('confirmed'),
    },
    create: (count) => server.ask('run', { commandText: 'true', nodes: count }),
    sustain: (load) => server.ask('sustain', load),
    pause: () => {
      server.pause();
      worker.pause();
    },
    resume: () => {
      server.resume();
      worker.resume();
    },
    end: async () => {
      await worker.end();
      await server.end();
    },
  };
}
