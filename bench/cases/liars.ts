/** `liars`: commands on honest machines, alone and beside three agents that lie on every channel of their sessions (L1). */
import { startBenchServer } from '../fleet/database.ts';
import { awaitCalm } from '../method/machine.ts';
import { quantile } from '../method/statistics.ts';
import type { SustainedResult } from '../method/sustained.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import { startProduct, type Product } from '../product/contestant.ts';
import { REGISTRATION } from '../product/simulated-agent.ts';
import { verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 50;
const SECONDS = 30;
const LIARS = 3;

/** Operations under way: few, so that what is seen is latency and not throughput. */
const IN_FLIGHT = 4;

/** Targets: the others' p99 at most doubles, floods are cut within so long. Source: invariants.md, L1. */
const P99_RATIO_MAX = 2;
const CUT_MS_MAX = 2_000;

/** How one session of a liar ended. */
interface Cut {
  readonly lie: string;
  readonly code: number;
  readonly ms: number;
}

/** The honest ones alone, then beside the liars, who are cut and come again all the time. */
export async function liars(options: CaseOptions): Promise<void> {
  const [nodes, seconds] = [options.nodes[0] ?? NODES, options.seconds ?? SECONDS];
  const postgres = await startBenchServer();
  let product: Product | undefined;
  let liar: Worker | undefined;
  try {
    product = await startProduct(postgres, nodes);
    const { admin, place, agents } = product;
    const sustain = () => agents.worker.ask<SustainedResult & { refused: number }>('sustain', { seconds, inFlight: IN_FLIGHT, nodes, port: admin.port, key: place.masterKey, sockets: 1 });
    const calm = await awaitCalm();
    const alone = await sustain();
    liar = await startWorker(new URL('../product/liars.ts', import.meta.url));
    await liar.ask('lie', { port: admin.port, liars: await enrol(product) });
    const beside = await sustain();
    const { dials, cuts } = await liar.ask<{ dials: number; cuts: readonly Cut[] }>('told');
    const [p99Alone, p99Beside] = [alone, beside].map(({ latenciesMs }) => quantile([...latenciesMs], 0.99)) as [number, number];
    const cutMs = cuts.filter(({ code }) => code === 4008).map(({ ms }) => ms);
    for (const [lie, of] of Map.groupBy(cuts, (cut) => cut.lie)) options.report.note(`${lie}: ${JSON.stringify(Object.fromEntries(Object.entries(Object.groupBy(of, ({ code }) => code)).map(([code, all]) => [code, all?.length])))}, longest ${Math.round(Math.max(...of.map(({ ms }) => ms)))} ms`);
    const figures = (side: string, result: SustainedResult & { refused: number }) => ({
      case: 'liars', side, nodes, seconds: result.seconds / result.operations, per_second: result.operations / result.seconds, refused: result.refused,
      p50_ms: quantile([...result.latenciesMs], 0.5), p99_ms: quantile([...result.latenciesMs], 0.99), idle_before: calm.idlePercent,
    });
    options.report.add({ ...figures('alone', alone), ratio: null, verdict: 'none' });
    options.report.add({
      ...figures('beside liars', beside), ratio: p99Beside / p99Alone, sessions_begun: dials, cut: cutMs.length, cut_ms_max: Math.max(0, ...cutMs),
      verdict: verdict(calm.quiet, p99Beside <= P99_RATIO_MAX * p99Alone && Math.max(0, ...cutMs) <= CUT_MS_MAX),
    });
  } finally {
    await liar?.end();
    await product?.end();
    await postgres.stop();
  }
}

async function enrol({ admin }: Product): Promise<readonly { readonly node: string; readonly token: string }[]> {
  const found: { node: string; token: string }[] = [];
  for (let index = 0; index < LIARS; index += 1) {
    const { key } = await admin.http.call<{ key: string }>('POST', '/clusters/bench-0/enrollment_keys', {});
    const { node_id: node, api_token: token } = await admin.http.call<{ node_id: string; api_token: string }>('POST', '/agents/enroll', { enrollment_key: key, node_id: crypto.randomUUID(), ...REGISTRATION });
    found.push({ node, token });
  }
  return found;
}
