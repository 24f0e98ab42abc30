/**
 * The part of `liars` about tunnels: commands on honest machines and scrapes of others, alone, beside systems that ask
 * three more honest ones over and over, and beside the same where those three lie through their tunnels (L1).
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startBenchServer } from '../fleet/database.ts';
import { nodeId } from '../fleet/nodes.ts';
import { freePort } from '../fleet/ports.ts';
import { awaitCalm } from '../method/machine.ts';
import { quantile } from '../method/statistics.ts';
import type { SustainedResult } from '../method/sustained.ts';
import { cpuMs, treeCpuMs } from '../method/usage.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import type { Asked } from '../product/requesters.ts';
import { startProduct, type Product } from '../product/contestant.ts';
import type { Liar } from '../product/lying-tunnels.ts';
import { REGISTRATION } from '../product/simulated-agent.ts';
import { createScope } from '../../test/support/scope.ts';
import { verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** Machines for commands, and as many for scrapes. */
const NODES = 50;
const SECONDS = 20;
const LIARS = 3;

/** Commands and scrapes under way: few, so that what is seen is latency and not throughput. */
const COMMANDS_IN_FLIGHT = 4;
const SCRAPES_IN_FLIGHT = 2;

/** Targets: the others' p99 at most doubles, floods are cut within so long. Source: docs/promises.md, L1. */
const P99_RATIO_MAX = 2;
const CUT_MS_MAX = 2_000;

/** A worker that does not answer by then hangs, in ms: the run tells so and ends. */
const ANSWER_MS_MAX = 60_000;

type Honest = SustainedResult & { readonly refused: number };

/** What the honest ones saw while one side lasted, and what the processes used meanwhile, in cores. */
interface Seen {
  readonly side: string;
  readonly commands: Honest;
  readonly scrapes: Honest;
  readonly cores: { readonly admin: number; readonly database: number; readonly liars: number };
}

interface Told {
  readonly opened: number;
  readonly refused: number;
  readonly streams: number;
  readonly cuts: readonly { readonly lie: string; readonly code: number; readonly ms: number }[];
}

/** Enrols those that will lie. */
export async function enrolLiars({ admin }: Product): Promise<readonly Liar[]> {
  const found: Liar[] = [];
  for (let index = 0; index < LIARS; index += 1) {
    const { key } = await admin.http.call<{ key: string }>('POST', '/clusters/bench-0/enrollment_keys', {});
    const { node_id: node, api_token: token } = await admin.http.call<{ node_id: string; api_token: string }>(
      'POST',
      '/agents/enroll',
      { enrollment_key: key, node_id: crypto.randomUUID(), ...REGISTRATION },
    );
    found.push({ node, token });
  }
  return found;
}

/** Three sides in turns, so that what else the machine does is spread over them. */
export async function lyingTunnels(options: CaseOptions): Promise<void> {
  const [nodes, seconds, repeats] = [options.nodes[0] ?? NODES, options.seconds ?? SECONDS, options.repeats ?? 2];
  if (options.profileDir !== undefined) await mkdir(options.profileDir, { recursive: true });
  const scope = createScope();
  try {
    const postgres = await startBenchServer();
    scope.teardown(() => postgres.stop());
    const proxyPort = await freePort();
    const product = await startProduct(postgres, nodes, {
      name: 'tunnels',
      more: nodes + LIARS,
      env: { ADMIN_HTTP_PROXY_PORT: String(proxyPort) },
    });
    scope.teardown(() => product.end());
    const { admin, place, agents } = product;
    const started = async (module: string): Promise<Worker> => {
      const worker = await startWorker(new URL(`../product/${module}`, import.meta.url));
      scope.teardown(() => worker.end());
      return worker;
    };
    const [scraped, requesters, liar] = [
      await started('scraped-agents.ts'),
      await started('requesters.ts'),
      await started('lying-tunnels.ts'),
    ];
    const { port } = admin;
    await scraped.ask('connect', { port, from: nodes, nodes: 2 * nodes + LIARS });
    const honest = Array.from({ length: LIARS }, (_, index) => nodeId(2 * nodes + index));
    const lying = await enrolLiars(product);
    await liar.ask('lie', { port, liars: lying });
    const hostsOf = (ids: readonly string[]): Promise<Asked['nodes']> =>
      Promise.all(
        ids.map(async (node) => ({
          node,
          host: (await admin.http.call<{ vpn_hostname: string }>('GET', `/nodes/${node}`)).vpn_hostname,
        })),
      );
    const key = place.masterKey;
    const [honestNodes, lyingNodes] = [await hostsOf(honest), await hostsOf(lying.map(({ node }) => node))];
    const sideMsMax = 1_100 * seconds + ANSWER_MS_MAX;
    const seen = async (side: string, profile?: string): Promise<Seen> => {
      const used = () => [cpuMs(admin.pid), treeCpuMs(postgres.pid), cpuMs(liar.pid)];
      const both = (): Promise<[Honest, Honest]> =>
        Promise.all([
          agents.worker.ask<Honest>(
            'sustain',
            { seconds, inFlight: COMMANDS_IN_FLIGHT, nodes, port, key, sockets: 1 },
            sideMsMax,
          ),
          scraped.ask<Honest>(
            'scrape',
            { seconds, inFlight: SCRAPES_IN_FLIGHT, nodes, from: nodes, port, key },
            sideMsMax,
          ),
        ]);
      const inspector = profile === undefined || options.profileDir === undefined ? null : await admin.inspect();
      const [before, beganMs] = [used(), performance.now()];
      const [commands, scrapes] =
        inspector === null || profile === undefined
          ? await both()
          : await inspector.profile(join(options.profileDir ?? '', profile), both);
      inspector?.close();
      const tookMs = performance.now() - beganMs;
      options.report.note(
        `${side}, ${Math.round(tookMs / 1_000)} s: p99 of commands ${p99Of(commands)} ms, of scrapes ${p99Of(scrapes)} ms`,
      );
      const [ofAdmin = 0, ofDatabase = 0, ofLiars = 0] = used().map((ms, at) => (ms - (before[at] ?? 0)) / tookMs);
      return { side, commands, scrapes, cores: { admin: ofAdmin, database: ofDatabase, liars: ofLiars } };
    };
    const asking = async (side: string, nodesAsked: Asked['nodes'], profile?: string): Promise<Seen> => {
      await requesters.ask('ask', { port, proxyPort, key, nodes: nodesAsked } satisfies Asked);
      const result = await seen(side, profile);
      const answers = await requesters.ask<Record<string, number>>('told', null, ANSWER_MS_MAX);
      options.report.note(`${side}: ${JSON.stringify(answers)}`);
      return result;
    };

    const calm = await awaitCalm();
    const all: Seen[] = [];
    const told: Told[] = [];
    for (let round = 0; round < repeats; round += 1) {
      all.push(await seen('alone'));
      all.push(await asking('beside honest ones', honestNodes));
      await liar.ask('told', null, ANSWER_MS_MAX);
      all.push(await asking('beside liars', lyingNodes, `lying-tunnels-${round}.cpuprofile`));
      told.push(await liar.ask<Told>('told', null, ANSWER_MS_MAX));
    }
    const cutMsMax = tellOfCuts(options, told);
    for (const what of ['commands', 'scrapes'] as const) {
      const p99MsOf = (side: string): number => quantile(latencies(all, side, what), 0.99);
      const aloneMs = p99MsOf('alone');
      for (const side of new Set(all.map((one) => one.side))) {
        const of = all.filter((one) => one.side === side);
        const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / of.length;
        const ratio = p99MsOf(side) / aloneMs;
        const isMet = ratio <= P99_RATIO_MAX && cutMsMax <= CUT_MS_MAX;
        if (side === 'beside liars')
          options.report.note(
            `${what} beside liars: ${ratio.toFixed(1)} times the p99 of alone (at most ${P99_RATIO_MAX}), floods cut after ${Math.round(cutMsMax)} ms (at most ${CUT_MS_MAX}): ${isMet ? 'met' : 'missed'}${calm.quiet ? '' : ', on a busy machine: no figure to judge by'}`,
          );
        options.report.add({
          case: 'liars',
          side: `tunnels, ${what} ${side}`,
          nodes,
          seconds: mean(of.map((one) => one[what].seconds / one[what].operations)),
          per_second: mean(of.map((one) => one[what].operations / one[what].seconds)),
          refused: of.reduce((sum, one) => sum + one[what].refused, 0),
          unended: of.reduce((sum, one) => sum + one[what].unended, 0),
          p50_ms: quantile(latencies(all, side, what), 0.5),
          p99_ms: p99MsOf(side),
          p99_ms_of_rounds: of.map((one) => Math.round(quantile([...one[what].latenciesMs], 0.99))).join(' '),
          idle_before: calm.idlePercent,
          cores_admin: mean(of.map(({ cores }) => cores.admin)),
          cores_database: mean(of.map(({ cores }) => cores.database)),
          cores_liars: mean(of.map(({ cores }) => cores.liars)),
          ratio: side === 'alone' ? null : ratio,
          verdict: side === 'beside liars' ? verdict(calm.quiet, isMet) : 'none',
        });
      }
    }
  } finally {
    await scope.end();
  }
}

const p99Of = ({ latenciesMs }: Honest): number => Math.round(quantile([...latenciesMs], 0.99));

function latencies(all: readonly Seen[], side: string, what: 'commands' | 'scrapes'): number[] {
  return all.filter((one) => one.side === side).flatMap((one) => [...one[what].latenciesMs]);
}

/** Says how the tunnels of liars ended. Answers after how long a flood was cut at most, in ms. */
function tellOfCuts({ report }: CaseOptions, told: readonly Told[]): number {
  const sum = (of: (one: Told) => number): number => told.reduce((total, one) => total + of(one), 0);
  report.note(
    `liars were asked for ${sum(({ opened }) => opened)} tunnels, of which ${sum(({ refused }) => refused)} were refused; ${sum(({ streams }) => streams)} answers were lies`,
  );
  const cuts = told.flatMap((one) => one.cuts);
  for (const [lie, of] of Map.groupBy(cuts, (cut) => cut.lie)) {
    const codes = Object.entries(Object.groupBy(of, ({ code }) => code))
      .map(([code, same]) => `${code}: ${same?.length}`)
      .join(', ');
    report.note(`tunnels, ${lie}: ${codes}; longest ${Math.round(Math.max(...of.map(({ ms }) => ms)))} ms`);
  }
  return Math.max(0, ...cuts.filter(({ code, lie }) => code !== 0 && lie !== 'answers').map(({ ms }) => ms));
}
