/**
 * `fanout-with-traces`: what recording every trace costs those who wait for a command: the same fan-out without and
 * with a collector, in turns.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startBenchServer } from '../fleet/database.ts';
import { asSide, fanOut } from '../fleet/contestant.ts';
import { interleave } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import { startProduct, type Product } from '../product/contestant.ts';
import { compare, verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 10_000;
const REPEATS = 7;

/** Target: so many times as long when every execution is recorded, at most. What a broker may cost. */
const SLOWDOWN_MAX = 1.25;

/** A queue that holds the two spans of every execution: none is spared by being dropped. */
const QUEUE_SPANS = 65_536;

/** Reports the slowdown, and that of the admin's processor time. */
export async function fanoutWithTraces(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const collector = await startCollector();
  const postgres = await startBenchServer();
  const products: Product[] = [];
  try {
    for (const [label, env] of [
      ['without', {}],
      ['with', { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_MAX_QUEUE_SIZE: String(QUEUE_SPANS) }],
    ] as const) {
      const product = await startProduct(postgres, nodes, { name: label, env });
      product.pause();
      products.push(product);
    }
    const [without, withTraces] = products as [Product, Product];
    const sides = [
      { ...asSide(without, () => fanOut(without, nodes), true), name: 'without' },
      { ...asSide(withTraces, () => fanOut(withTraces, nodes), true), name: 'with' },
    ];
    const result = await interleave(sides, options.repeats ?? REPEATS, 2);
    const median = (
      side: string,
      of: (sample: { readonly seconds: number; readonly readings: Readonly<Record<string, number>> }) => number,
    ): number => quantile((result.samples.get(side) ?? []).map(of), 0.5);
    const slowdown = median('with', ({ seconds }) => seconds) / median('without', ({ seconds }) => seconds);
    const cpuRatio =
      median('with', ({ readings }) => readings['cpu_ms'] ?? Number.NaN) /
      median('without', ({ readings }) => readings['cpu_ms'] ?? Number.NaN);
    for (const finding of compare('fanout-with-traces', { nodes }, result)) {
      options.report.add({
        ...finding,
        ...(finding.side === 'with' && {
          ratio: 1 / slowdown,
          slowdown,
          cpu_ratio: cpuRatio,
          verdict: verdict(result.calmBefore.quiet, slowdown <= SLOWDOWN_MAX),
        }),
      });
    }
    options.report.note(`${collector.bytes()} bytes of spans came to the collector`);
  } finally {
    for (const product of products) await product.end();
    await postgres.stop();
    collector.close();
  }
}

/** Takes everything and keeps nothing. */
async function startCollector(): Promise<{ readonly url: string; bytes(): number; close(): void }> {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (piece: Buffer) => {
      bytes += piece.length;
    });
    request.on('end', () => response.writeHead(200).end());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bytes: () => bytes,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
