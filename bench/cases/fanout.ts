/** `fanout`: one command to every node, from the request to the last result that is durable and confirmed. */
import { startBenchServer } from '../fleet/database.ts';
import { asSide, fanOut, type Contestant } from '../fleet/contestant.ts';
import { startFloor } from '../floor/contestant.ts';
import { interleave } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import { profiled, startProduct, type Product } from '../product/contestant.ts';
import { fanoutOverAdmins } from './fanout-admins.ts';
import { compare, verdict, type Target } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** Sizes when none are asked for. */
const NODES = [1, 200, 1_000, 10_000] as const;

/** Counted rounds of a fan-out, and of single executions, whose tail needs many. */
const REPEATS = 7;
const REPEATS_OF_ONE = 300;

/** Targets. Source: docs/performance.md. Ratios for fleets, seconds for a single execution. */
const RATIO_MIN = 0.5;
const ONE_P50_SECONDS_MAX = 0.005;
const ONE_P99_SECONDS_MAX = 0.015;
const GROWTH_MAX = 1.3;

/** Runs every size, then compares the cost an execution at the largest size with that at 1,000. */
export async function fanout(options: CaseOptions): Promise<void> {
  if (options.admins !== undefined && options.admins > 1) return fanoutOverAdmins(options, options.admins);
  const costs = new Map<number, Cost>();
  for (const nodes of options.nodes.length > 0 ? options.nodes : NODES) {
    const cost = await fanoutOf(nodes, options);
    if (cost !== undefined) costs.set(nodes, cost);
  }
  const [small, large] = [costs.get(1_000), costs.get(19_000)];
  if (small === undefined || large === undefined) return;
  const growthOf = (measure: 'seconds' | 'cpuMs'): number => large[measure] / 19_000 / (small[measure] / 1_000);
  const growth = growthOf('seconds');
  options.report.add({
    case: 'growth',
    side: 'product',
    seconds: large.seconds,
    ratio: 1 / growth,
    growth,
    cpu_growth: growthOf('cpuMs'),
    verdict: verdict(small.quiet && large.quiet, growth <= GROWTH_MAX),
  });
}

/** Medians of one size, and whether the machine was quiet. */
interface Cost {
  readonly seconds: number;
  readonly cpuMs: number;
  readonly quiet: boolean;
}

async function fanoutOf(nodes: number, options: CaseOptions): Promise<Cost | undefined> {
  const postgres = await startBenchServer();
  const contestants: Contestant[] = [];
  let product: Product | undefined;
  try {
    contestants.push(await startFloor(postgres, nodes));
    if (!options.floorOnly) {
      contestants[0]?.pause();
      product = await startProduct(postgres, nodes);
      contestants.push(product);
      product.pause();
    }
    const sides = contestants.map((side) =>
      asSide(side, () => fanOut(side, nodes), contestants.length > 1 && nodes > 1),
    );
    if (nodes === 1) for (const side of contestants) side.resume();
    const result = await interleave(
      sides,
      options.repeats ?? (nodes === 1 ? REPEATS_OF_ONE : REPEATS),
      nodes === 1 ? 50 : 2,
    );
    for (const finding of compare('fanout', { nodes }, result, nodes === 1 ? single : fleet))
      options.report.add(finding);
    const ours = product;
    if (ours) await profiled(ours, options.profileDir, `fanout-${nodes}`, () => fanOut(ours, nodes));
    const samples = result.samples.get('product');
    return (
      samples && {
        seconds: quantile(
          samples.map(({ seconds }) => seconds),
          0.5,
        ),
        cpuMs: quantile(
          samples.map(({ readings }) => readings['cpu_ms'] ?? Number.NaN),
          0.5,
        ),
        quiet: result.calmBefore.quiet,
      }
    );
  } finally {
    for (const side of contestants) await side.end();
    await postgres.stop();
  }
}

const fleet: Target = ({ ratio }) => ratio !== null && ratio >= RATIO_MIN;
const single: Target = ({ series }) =>
  quantile(series, 0.5) <= ONE_P50_SECONDS_MAX && quantile(series, 0.99) <= ONE_P99_SECONDS_MAX;
