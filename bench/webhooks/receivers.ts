/**
 * Worker: receivers of webhooks. Healthy ones answer 204 at once, refused ones do not listen, silent ones take the
 * request and never answer.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { freePort } from '../fleet/ports.ts';
import { quantile } from '../method/statistics.ts';
import { serveQuestions } from '../method/worker.ts';

/** Where the time of an event stands in its envelope. */
const TIME = '"time":"';

let received = 0;
let wanted = 0;
let done: (() => void) | undefined;
let delaysMs: number[] = [];
let atMs: number[] = [];
let duplicates = 0;
let seen = new Set<string>();

/** Counts a request; `delay` is from the time of the event to the last byte of its body. */
function count(port: number, id: string, body: Buffer): void {
  const key = `${port} ${id}`;
  if (seen.has(key)) duplicates += 1;
  seen.add(key);
  const text = body.toString('latin1', 0, 300);
  const from = text.indexOf(TIME) + TIME.length;
  const nowMs = Date.now();
  delaysMs.push(nowMs - Date.parse(text.slice(from, from + 24)));
  atMs.push(nowMs);
  received += 1;
  if (received === wanted) done?.();
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function healthy(): Promise<number> {
  let port = 0;
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      response.writeHead(204).end();
      count(port, String(request.headers['webhook-id']), Buffer.concat(pieces));
    });
  });
  server.keepAliveTimeout = 60_000;
  port = await listen(server);
  return port;
}

const silent = (): Promise<number> => listen(createTcpServer((socket) => socket.on('error', () => {}).resume()));

serveQuestions({
  start: async ({ healthy: h, refused: r, silent: s }: { healthy: number; refused: number; silent: number }) => ({
    healthy: await Promise.all(Array.from({ length: h }, healthy)),
    refused: await Promise.all(Array.from({ length: r }, freePort)),
    silent: await Promise.all(Array.from({ length: s }, silent)),
  }),
  expect: (requests: number) => {
    [received, wanted, delaysMs, atMs, duplicates, seen] = [0, requests, [], [], 0, new Set()];
  },
  /** Resolves when all that was expected has come. `spanSeconds` is from the first to the last. */
  received: async () => {
    if (received < wanted)
      await new Promise<void>((resolve) => {
        done = resolve;
      });
    return {
      received,
      duplicates,
      p50Ms: quantile(delaysMs, 0.5),
      p99Ms: quantile(delaysMs, 0.99),
      worstMs: quantile(delaysMs, 1),
      spanSeconds: ((atMs.at(-1) ?? 0) - (atMs[0] ?? 0)) / 1_000,
    };
  },
  counts: () => ({ received, wanted, duplicates }),
});
