/**
 * Worker: simulated agents that open real tunnels and answer every scrape with the metrics of this machine, made once
 * as text and once packed as an agent packs it, so that they cost little.
 */
import { Duplex, PassThrough } from 'node:stream';
import { constants, gzipSync } from 'node:zlib';
import { createHostMetrics } from '../../agent/observability/metrics/host.ts';
import type { Egress } from '../../agent/access/egress/egress.ts';
import { AgentTunnels } from '../../agent/access/tunnel/tunnels.ts';
import { EXPOSITION_TYPE, Exposition } from '../../transport/net/exposition/exposition.ts';
import { nodeId } from '../fleet/nodes.ts';
import { sustain, type SustainedLoad } from '../method/sustained.ts';
import { serveQuestions } from '../method/worker.ts';
import { createHttpClient } from './http-client.ts';
import { simulatedAgent } from './simulated-agent.ts';

/** Size of an exposition, in bytes: that of node_exporter on a machine with a few disks and interfaces. */
const EXPOSITION_BYTES = 60_000;

/** Connections that are dialled at once. */
const DIALS_AT_ONCE = 64;

const log = {
  debug() {},
  info() {},
  warn() {},
  error: (_fields: object, message: string) => {
    console.error(message);
  },
};
const stops: (() => void)[] = [];
const answers = { text: Buffer.alloc(0), gzip: Buffer.alloc(0) };
let answered = 0;

/** Nothing is dialled: the answer stands ready. */
const egress: Egress = { dial: () => Promise.resolve({ ok: true, stream: new PassThrough() }) };

/** One answer a request, each of which comes in one piece. As at a real agent, the connection stays. */
function join(near: Duplex): void {
  near.on('error', () => {});
  near.on('data', (request: Buffer) => {
    answered += 1;
    near.write(request.includes('accept-encoding: gzip') ? answers.gzip : answers.text);
  });
  near.on('end', () => near.end());
}

/** What this machine measures, filled up to the size of a larger one. */
async function exposition(): Promise<string> {
  const own = await createHostMetrics({ version: '0.0.0' })();
  const more = new Exposition().family(
    'node_network_filled_up_total',
    'counter',
    'Interfaces that this machine does not have.',
  );
  const missing = Math.max(0, EXPOSITION_BYTES - own.length);
  for (let index = 0; more.toString().length < missing; index += 1)
    more.sample('node_network_filled_up_total', index * 1_234.5, { device: `eth${index}`, duplex: 'full' });
  return own + (missing === 0 ? '' : more.toString());
}

function answerOf(body: Buffer, header = ''): Buffer<ArrayBuffer> {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${EXPOSITION_TYPE}\r\n${header}content-length: ${body.length}\r\nkeep-alive: timeout=75\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

function connect(port: number, index: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const tunnels = new AgentTunnels({ egress, join, log });
  const { session } = simulatedAgent(
    port,
    index,
    { ran() {}, confirmed() {}, live: () => resolve() },
    {
      openTunnel: (adminUrls, token, ways) => tunnels.open(adminUrls, token, ways),
      verdict() {},
      endSsh() {},
      unanswered: () => [],
      grants: () => [],
    },
  );
  session.start();
  stops.push(() => {
    session.stop();
    tunnels.close();
  });
  return promise;
}

serveQuestions({
  /** Connects nodes from … nodes - 1. */
  connect: async ({ port, from = 0, nodes }: { port: number; from?: number; nodes: number }) => {
    const text = await exposition();
    answers.text = answerOf(Buffer.from(text));
    answers.gzip = answerOf(gzipSync(text, { level: constants.Z_BEST_SPEED }), 'content-encoding: gzip\r\n');
    let next = from;
    await Promise.all(
      Array.from({ length: DIALS_AT_ONCE }, async () => {
        for (let index = next; index < nodes; index = next) {
          next += 1;
          await connect(port, index);
        }
      }),
    );
    return Buffer.byteLength(text);
  },
  answered: () => answered,
  /** Scrapes of nodes from … from + nodes - 1, in this process, so that their end is seen where nobody lies. */
  scrape: async ({ port, key, from, ...load }: SustainedLoad & { port: number; key: string; from: number }) => {
    const client = createHttpClient(port, key);
    let failed = 0;
    try {
      const scraped = await sustain(load, async (node) => {
        const { status } = await client.request('GET', `/api/v1/nodes/${nodeId(from + node)}/metrics/host/raw`);
        if (status !== 200) failed += 1;
      });
      return { ...scraped, refused: failed };
    } finally {
      client.close();
    }
  },
  stop: () => {
    for (const stop of stops) stop();
  },
});
