/**
 * `liars`: commands on honest machines, alone and beside three agents that lie on every channel of their sessions; and
 * with scrapes of honest machines, beside three that lie through their tunnels (L1).
 */
import { join } from 'node:path';
import { startBenchServer } from '../fleet/database.ts';
import { awaitCalm } from '../method/machine.ts';
import { quantile } from '../method/statistics.ts';
import { treeCpuMs } from '../method/usage.ts';
import type { SustainedResult } from '../method/sustained.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import { startProduct, type Product } from '../product/contestant.ts';
import { verdict } from './findings.ts';
import { enrolLiars, lyingTunnels } from './lying-tunnels.ts';
import type { CaseOptions } from './options.ts';

const NODES = 50;
const SECONDS = 30;

/** Operations under way: few, so that what is seen is latency and not throughput. */
const IN_FLIGHT = 4;

/** Targets: the others' p99 at most doubles, floods are cut within so long. Source: docs/promises.md, L1. */
const P99_RATIO_MAX = 2;
const CUT_MS_MAX = 2_000;

/** How one session of a liar ended. */
interface Cut {
  readonly lie: string;
  readonly code: number;
  readonly reason: string;
  readonly ms: number;
  readonly frames: number;
}

/** Sustained load, and what the processes used meanwhile, in cores. */
interface Figures extends SustainedResult {
  readonly refused: number;
  readonly cores: { readonly admin: number; readonly database: number; readonly liars: number };
}

/** Both parts, or the one that is named behind the case: `sessions` or `tunnels`. */
export async function liars(options: CaseOptions): Promise<void> {
  const isWanted = (part: string): boolean => options.names.length === 0 || options.names.includes(part);
  if (isWanted('sessions')) await lyingSessions(options);
  if (isWanted('tunnels')) await lyingTunnels(options);
}

/**
 * The honest ones alone, beside liars who flood, are cut and come again all the time, beside liars who stay just within
 * their share, and alone again.
 */
async function lyingSessions(options: CaseOptions): Promise<void> {
  const [nodes, seconds] = [options.nodes[0] ?? NODES, options.seconds ?? SECONDS];
  const postgres = await startBenchServer();
  let product: Product | undefined;
  try {
    const running = (product = await startProduct(postgres, nodes));
    const { admin, place, agents } = running;
    const sustain = async (liar?: Worker): Promise<Figures> => {
      const used = () => [admin.pid, postgres.pid, liar?.pid ?? 0].map((pid) => (pid === 0 ? 0 : treeCpuMs(pid)));
      const [before, beganMs] = [used(), performance.now()];
      const result = await agents.worker.ask<SustainedResult & { refused: number }>('sustain', {
        seconds,
        inFlight: IN_FLIGHT,
        nodes,
        port: admin.port,
        key: place.masterKey,
        sockets: 1,
      });
      const tookMs = performance.now() - beganMs;
      const [ofAdmin = 0, ofDatabase = 0, ofLiars = 0] = used().map(
        (ms, index) => (ms - (before[index] ?? 0)) / tookMs,
      );
      return { ...result, cores: { admin: ofAdmin, database: ofDatabase, liars: ofLiars } };
    };
    const calm = await awaitCalm();
    const first = await sustain();
    const rounds = [
      await beside(options, running, 'flood', sustain),
      await beside(options, running, 'within', sustain),
    ];
    const again = await sustain();
    // of two, the worse: what else the machine did is not laid to the liars
    const aloneMs = Math.max(p99(first), p99(again));
    for (const [side, result] of [
      ['alone', first],
      ['alone again', again],
    ] as const)
      options.report.add({ ...rowOf(side, nodes, result, calm.idlePercent), ratio: null, verdict: 'none' });
    for (const { side, result, dials, cuts } of rounds) {
      const cutMsMax = Math.max(0, ...cuts.filter(({ code }) => code === 4008).map(({ ms }) => ms));
      options.report.add({
        ...rowOf(side, nodes, result, calm.idlePercent),
        ratio: p99(result) / aloneMs,
        sessions_begun: dials,
        cut: cuts.filter(({ code }) => code === 4008).length,
        cut_ms_max: cutMsMax,
        verdict: verdict(
          calm.quiet,
          p99(result) <= P99_RATIO_MAX * aloneMs && (side === 'within' || cutMsMax <= CUT_MS_MAX),
        ),
      });
    }
  } finally {
    await product?.end();
    await postgres.stop();
  }
}

async function beside(
  options: CaseOptions,
  product: Product,
  pace: 'flood' | 'within',
  sustain: (liar: Worker) => Promise<Figures>,
) {
  const liar = await startWorker(new URL('../product/liars.ts', import.meta.url));
  try {
    await liar.ask('lie', { port: product.admin.port, liars: await enrolLiars(product), pace });
    const inspector = options.profileDir === undefined ? null : await product.admin.inspect();
    const result =
      inspector === null
        ? await sustain(liar)
        : await inspector.profile(join(options.profileDir ?? '', `liars-${pace}.cpuprofile`), () => sustain(liar));
    inspector?.close();
    const { dials, cuts } = await liar.ask<{ dials: number; cuts: readonly Cut[] }>('told');
    for (const [lie, of] of Map.groupBy(cuts, (cut) => cut.lie)) {
      const codes = Object.entries(Object.groupBy(of, ({ code, reason }) => `${code} ${reason}`.trim()))
        .map(([code, all]) => `${code}: ${all?.length}`)
        .join(', ');
      const longest = of.reduce((one, other) => (other.ms > one.ms ? other : one));
      options.report.note(`${pace}, ${lie}: ${codes}; longest ${Math.round(longest.ms)} ms, ${longest.frames} frames`);
    }
    return { side: pace, result, dials, cuts };
  } finally {
    await liar.end();
  }
}

const p99 = ({ latenciesMs }: SustainedResult): number => quantile([...latenciesMs], 0.99);

function rowOf(side: string, nodes: number, result: Figures, idle: number) {
  const { cores } = result;
  return {
    case: 'liars',
    side,
    nodes,
    seconds: result.seconds / result.operations,
    per_second: result.operations / result.seconds,
    refused: result.refused,
    p50_ms: quantile([...result.latenciesMs], 0.5),
    p99_ms: p99(result),
    idle_before: idle,
    cores_admin: cores.admin,
    cores_database: cores.database,
    cores_liars: cores.liars,
  };
}
