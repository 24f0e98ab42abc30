/** `sustained`: independent executions, each a command of its own for one random node, 256 in flight. */
import { startBenchServer, withClient, type BenchServer, type DatabasePlace } from '../fleet/database.ts';
import type { Contestant } from '../fleet/contestant.ts';
import { startFloor } from '../floor/contestant.ts';
import { awaitCalm, readCpuTimes, spareBetween } from '../method/machine.ts';
import { quantile } from '../method/statistics.ts';
import type { SustainedResult } from '../method/sustained.ts';
import { cpuMs, treeCpuMs } from '../method/usage.ts';
import { profiled, startProduct, type Product } from '../product/contestant.ts';
import { verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 1_000;
const SECONDS = 60;
const IN_FLIGHT = 256;

/** Connections of the REST load: 8 requests under way on each, half of what an admin takes. */
const SOCKETS = 32;

/** Length of the load under a profile, in s. */
const PROFILE_SECONDS = 5;

/** Targets. Source: docs/performance.md. */
const RATE_MIN = 8_000;
const P99_MS_MAX = 100;

/**
 * First the floor, then the product, a minute each. The floor makes its operations itself: it takes no requests. The
 * product's come by pipelined HTTP/1.1 from the process of the agents.
 */
export async function sustained(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const load = { seconds: options.seconds ?? SECONDS, inFlight: IN_FLIGHT, nodes };
  const postgres = await startBenchServer();
  const floor = await startFloor(postgres, nodes);
  let product: Product | undefined;
  try {
    floor.pause();
    product = options.floorOnly ? undefined : await startProduct(postgres, nodes);
    product?.pause();
    const calm = await awaitCalm();

    floor.resume();
    const bare = await measure(postgres, floor, () => floor.sustain(load));
    floor.pause();
    options.report.add({
      case: 'sustained',
      side: 'floor',
      nodes,
      ...bare.figures,
      ratio: null,
      idle_before: calm.idlePercent,
      verdict: 'none',
    });
    if (!product) return;

    product.resume();
    const { admin, place, agents, database } = product;
    const sustain = (seconds: number) =>
      agents.worker.ask<SustainedResult & { refused: number }>('sustain', {
        ...load,
        seconds,
        port: admin.port,
        key: place.masterKey,
        sockets: SOCKETS,
      });
    const ours = await measure(postgres, product, () => sustain(load.seconds));
    await profiled(product, options.profileDir, 'sustained', () => sustain(PROFILE_SECONDS));
    const lost = await unfinished(database);
    options.report.add({
      case: 'sustained',
      side: 'product',
      nodes,
      ...ours.figures,
      ratio: ours.figures.per_second / bare.figures.per_second,
      refused: ours.result.refused,
      unfinished: lost,
      idle_before: calm.idlePercent,
      verdict: verdict(
        calm.quiet,
        ours.figures.per_second >= RATE_MIN &&
          ours.figures.p99_ms <= P99_MS_MAX &&
          ours.result.refused === 0 &&
          ours.result.unended === 0 &&
          lost === 0,
      ),
    });
  } finally {
    await product?.end();
    await floor.end();
    await postgres.stop();
  }
}

async function measure<R extends SustainedResult>(postgres: BenchServer, side: Contestant, run: () => Promise<R>) {
  const cpu = (): number[] => [cpuMs(side.serverPid), cpuMs(side.agents.worker.pid), treeCpuMs(postgres.pid)];
  const [cpuBefore, timesBefore] = [cpu(), readCpuTimes()];
  const result = await run();
  const used = cpu().map((ms, index) => ms - (cpuBefore[index] ?? 0));
  const latencies = [...result.latenciesMs];
  const all = result.operations * 1.1; // the warm-up counts for the processors, not for the latencies
  return {
    result,
    figures: {
      seconds: result.seconds / result.operations,
      per_second: result.operations / result.seconds,
      p50_ms: quantile(latencies, 0.5),
      p99_ms: quantile(latencies, 0.99),
      server_cpu_us: ((used[0] ?? 0) * 1_000) / all,
      agents_cpu_us: ((used[1] ?? 0) * 1_000) / all,
      postgres_cpu_us: ((used[2] ?? 0) * 1_000) / all,
      steal: spareBetween(timesBefore, readCpuTimes()).stealPercent,
    },
  };
}

function unfinished(database: DatabasePlace): Promise<number> {
  return withClient(database, async (client) => {
    const {
      rows: [row],
    } = await client.query<{ open: string }>(
      `select count(*) as open from command_execution where status <> 'completed'`,
    );
    return Number(row?.open);
  });
}
