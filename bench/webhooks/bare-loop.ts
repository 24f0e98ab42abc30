/**
 * Worker: the floor. The same HTTP client sends as many requests of the same size to the same receivers, with nothing
 * around it.
 */
import { createHash, randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { serveQuestions } from '../method/worker.ts';

/** What to send, and with how many requests in flight to each receiver. */
export interface BareLoad {
  readonly ports: readonly number[];
  readonly requests: number;
  readonly inFlight: number;
  readonly body: string;
}

async function run({ ports, requests, inFlight, body }: BareLoad): Promise<number> {
  const pools = ports.map((port) => new Pool(`http://127.0.0.1:${port}`, { connections: inFlight, pipelining: 1 }));
  const bytes = Buffer.from(body);
  const signature = createHash('sha256').update(bytes).digest();
  const headers = {
    'content-type': 'application/cloudevents+json',
    'user-agent': 'edge-fleet-control/0.0.0',
    'webhook-id': '',
    'webhook-timestamp': '1700000000',
    'webhook-signature': `v1,${signature.toString('base64')}`,
    'x-edge-signature': `sha256=${signature.toString('hex')}`,
  };
  let left = requests;
  const send = async (pool: Pool): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const { body: answer } = await pool.request({
        path: '/hook',
        method: 'POST',
        headers: { ...headers, 'webhook-id': randomUUID() },
        body: bytes,
      });
      await answer.dump();
    }
  };
  const began = performance.now();
  await Promise.all(pools.flatMap((pool) => Array.from({ length: inFlight }, () => send(pool))));
  const seconds = (performance.now() - began) / 1_000;
  await Promise.all(pools.map((pool) => pool.close()));
  return seconds;
}

serveQuestions({ run });
