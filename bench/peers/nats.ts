/** NATS request fan-out as a contestant: nothing is durable, there are no exit codes, a lost node is simply silent. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Side } from '../method/interleave.ts';
import { startWorker } from '../method/worker.ts';
import { PEERS_DIR } from './programs.ts';

/** A running server with its clients. */
export interface NatsFleet {
  readonly side: Side;
  end(): Promise<void>;
}

/** Starts nats-server on loopback and connects `nodes` responders and one requester, in two processes. */
export async function startNatsFleet(program: string, port: number, nodes: number): Promise<NatsFleet> {
  await mkdir(PEERS_DIR, { recursive: true });
  const config = join(PEERS_DIR, 'nats.conf');
  await writeFile(config, `listen: 127.0.0.1:${port}\nmax_connections: 64000\n`);
  const server = spawn(program, ['-c', config], { stdio: 'ignore' });
  const responders = await startWorker(new URL('nats-worker.ts', import.meta.url));
  const requester = await startWorker(new URL('nats-worker.ts', import.meta.url));
  await responders.ask('respond', { port, nodes });
  await requester.ask('prepare', { port });
  return {
    side: {
      name: 'nats',
      run: async () => ({ seconds: (await requester.ask<number>('request', nodes)) / 1_000, readings: {} }),
    },
    end: async () => {
      await requester.end();
      await responders.end();
      server.kill('SIGTERM');
      if (server.exitCode === null) await once(server, 'exit');
    },
  };
}
