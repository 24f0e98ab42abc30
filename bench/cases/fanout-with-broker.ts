/**
 * `fanout-with-broker`: what publishing costs those who wait for a command: the same fan-out without and with a broker,
 * in turns.
 */
import { createScope } from '../../test/support/scope.ts';
import { BROKER_SERVERS } from '../brokers/servers.ts';
import { startBenchServer, withClient } from '../fleet/database.ts';
import { asSide, fanOut } from '../fleet/contestant.ts';
import { interleave } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import { startProduct, type Product } from '../product/contestant.ts';
import { compare, verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 10_000;
const REPEATS = 7;

/** Target: so many times as long with a broker, at most. Source: docs/performance.md. */
const SLOWDOWN_MAX = 1.25;

/** The broker is the one that is named behind the case; nats unless given. */
export async function fanoutWithBroker(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const name = options.names[0] ?? 'nats';
  const server = BROKER_SERVERS[name];
  if (server === undefined) throw new Error(`there is no broker ${name}: ${Object.keys(BROKER_SERVERS).join(', ')}`);
  const scope = createScope();
  const postgres = await startBenchServer();
  const products: Product[] = [];
  try {
    const broker = await server.start(scope);
    for (const [label, env] of [
      ['without', {}],
      ['with', { EVENT_BROKER_ENABLED: 'true', EVENT_BROKER_ADAPTER: server.adapter, ...broker }],
    ] as const) {
      const product = await startProduct(postgres, nodes, { name: label, env });
      product.pause();
      products.push(product);
    }
    const [without, withBroker] = products as [Product, Product];
    const sides = [
      { ...asSide(without, () => fanOut(without, nodes), true), name: 'without' },
      { ...asSide(withBroker, () => fanOut(withBroker, nodes), true), name: 'with' },
    ];
    const result = await interleave(sides, options.repeats ?? REPEATS, 2);
    const secondsOf = (side: string): number =>
      quantile(
        (result.samples.get(side) ?? []).map(({ seconds }) => seconds),
        0.5,
      );
    const slowdown = secondsOf('with') / secondsOf('without');
    for (const finding of compare('fanout-with-broker', { nodes, broker: name }, result)) {
      options.report.add({
        ...finding,
        ...(finding.side === 'with' && {
          ratio: 1 / slowdown,
          slowdown,
          verdict: verdict(result.calmBefore.quiet, slowdown <= SLOWDOWN_MAX),
        }),
      });
    }
    withBroker.resume();
    const behind = await withClient(
      withBroker.database,
      async (client) =>
        (
          await client.query<{ count: string }>(
            `select count(*) from event_channel c join event e on (e.txid, e.seq) > (c.txid, c.seq) where c.name = 'broker'`,
          )
        ).rows[0]?.count,
    );
    options.report.note(`${behind} events had not left yet when the last fan-out was over`);
  } finally {
    for (const product of products) await product.end();
    await postgres.stop();
    await scope.end();
  }
}
