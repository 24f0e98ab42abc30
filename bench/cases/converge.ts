/**
 * `converge`: how soon everybody knows a new member of a VPN, what it costs in frames, a whole fleet of VPNs, and a
 * real one by name.
 */
import { spawnSync } from 'node:child_process';
import { startBenchServer, withClient, type BenchServer } from '../fleet/database.ts';
import { insertNodes } from '../fleet/nodes.ts';
import { interleave } from '../method/interleave.ts';
import { awaitCalm, readCpuTimes, spareBetween } from '../method/machine.ts';
import { nowMs } from '../method/clock.ts';
import { quantile } from '../method/statistics.ts';
import { cpuMs, rssBytes } from '../method/usage.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import { newAdminPlace, startAdmin, type AdminProcess } from '../product/admin.ts';
import type { VpnCounts } from '../product/simulated-member.ts';
import { createScope } from '../../test/support/scope.ts';
import { until } from '../../test/support/until.ts';
import { connected, nodeName, pings, startFixture, type Member } from '../../test/support/vpn/fixture.ts';
import { verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** Members of the one VPN that grows, and how many join it one after another. */
const MEMBERS = 100;
const JOINS = 20;

/** Of the fleet of VPNs: 1,000 clusters of 50. */
const FLEET = 50_000;
const PER_CLUSTER = 50;

/** Processes that the simulated members of the fleet share. */
const WORKERS = 2;

/** Loopback addresses that they dial: one has room for 28,000 connections from another. */
const ADDRESSES = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'];

/**
 * Open files of one process, of which each member is one, and members where that many are not allowed: 20,000 is a
 * common limit.
 */
const FILES_MAX = 200_000;
const FLEET_WITHIN_LIMIT = 19_000;

/** Real agents with real interfaces, and how many join them. */
const REAL = 8;
const REAL_JOINS = 2;

/** Target, in s. Source: docs/performance.md. */
const REACHABLE_SECONDS_MAX = 3;

/**
 * All three parts, or those named behind the case: `join`, `fleet`, `real`. `--nodes` sets the size of the fleet, or of
 * the real VPN when that is the one part.
 */
export async function converge(options: CaseOptions): Promise<void> {
  const isWanted = (part: string): boolean => options.names.length === 0 || options.names.includes(part);
  const postgres = await startBenchServer();
  try {
    if (isWanted('join')) await join(postgres, options);
    if (isWanted('fleet')) await fleet(postgres, options);
    if (isWanted('real')) await real(postgres, options);
  } finally {
    await postgres.stop();
  }
}

interface Product {
  readonly admin: AdminProcess;
  readonly urls: readonly string[];
  readonly workers: readonly Worker[];
  end(): Promise<void>;
}

async function startProduct(
  postgres: BenchServer,
  name: string,
  nodes: number,
  perCluster: number,
  workers: number,
): Promise<Product> {
  const database = await postgres.create(name);
  await withClient(database, (client) => insertNodes(client, nodes, perCluster));
  const place = await newAdminPlace(database, { ADMIN_API_HOST: '0.0.0.0' });
  const admin = await startAdmin(place);
  const running: Worker[] = [];
  for (let count = 0; count < workers; count += 1)
    running.push(await startWorker(new URL('../product/members.ts', import.meta.url)));
  return {
    admin,
    workers: running,
    urls: ADDRESSES.map((address) => `http://${address}:${admin.port}`),
    async end() {
      for (const worker of running) await worker.end();
      await admin.stop();
    },
  };
}

/** One VPN of 100, to which more come one after another. */
async function join(postgres: BenchServer, { report, repeats }: CaseOptions): Promise<void> {
  const joins = repeats ?? JOINS;
  const product = await startProduct(postgres, 'join', MEMBERS + joins, MEMBERS + joins, 1);
  try {
    const [worker] = product.workers;
    if (worker === undefined) return;
    await worker.ask('converge', { urls: product.urls, from: 0, to: MEMBERS, peers: MEMBERS - 1 });
    const before = await worker.ask<VpnCounts>('counts');
    let next = MEMBERS;
    const result = await interleave(
      [
        {
          name: 'product',
          async run() {
            const index = next;
            next += 1;
            const known = worker.ask<number>('knowAll', { index });
            const { began } = await worker.ask<{ began: number }>('converge', {
              urls: product.urls,
              from: index,
              to: index + 1,
              peers: index,
            });
            return { seconds: ((await known) - began) / 1_000, readings: {} };
          },
        },
      ],
      joins,
      0,
    );
    const after = await worker.ask<VpnCounts>('counts');
    const series = (result.samples.get('product') ?? []).map(({ seconds }) => seconds);
    // Frames of those who were there already, a member and change: all but the whole VPN of each new one.
    const changes = (joins * (2 * MEMBERS + joins - 1)) / 2;
    const [worst, frames] = [quantile(series, 1), after.frames - before.frames - joins];
    report.add({
      case: 'converge join',
      side: 'product',
      members: MEMBERS,
      joins,
      seconds: worst,
      median: quantile(series, 0.5),
      ratio: null,
      frames_per_member_and_change: frames / changes,
      bytes_per_member_and_change: (after.bytes - before.bytes) / changes,
      idle_before: result.calmBefore.idlePercent,
      verdict: verdict(result.calmBefore.quiet, worst <= REACHABLE_SECONDS_MAX && frames / changes < 1.5),
    });
  } finally {
    await product.end();
  }
}

/** VPNs of 50, all of whose members come at once. */
async function fleet(postgres: BenchServer, { report, nodes: [wanted = FLEET] }: CaseOptions): Promise<void> {
  const nodes = wanted <= FLEET_WITHIN_LIMIT || mayOpenFiles() ? wanted : FLEET_WITHIN_LIMIT;
  if (nodes < wanted)
    report.note(`this machine does not allow ${FILES_MAX} open files of one process: ${nodes} members, not ${wanted}`);
  const product = await startProduct(postgres, 'fleet', nodes, PER_CLUSTER, WORKERS);
  try {
    const { admin, workers, urls } = product;
    const calm = await awaitCalm();
    const [times, cpuBefore, emptyBytes] = [readCpuTimes(), cpuMs(admin.pid), rssBytes(admin.pid)];
    const share = Math.ceil(nodes / PER_CLUSTER / workers.length) * PER_CLUSTER;
    const ends = await Promise.all(
      workers.map((worker, index) =>
        worker.ask<{ began: number; ended: number }>('converge', {
          urls,
          from: index * share,
          to: Math.min(nodes, (index + 1) * share),
          peers: PER_CLUSTER - 1,
        }),
      ),
    );
    const seconds = (Math.max(...ends.map(({ ended }) => ended)) - Math.min(...ends.map(({ began }) => began))) / 1_000;
    const allCounts = await Promise.all(workers.map((worker) => worker.ask<VpnCounts>('counts')));
    const sum = (of: (counts: VpnCounts) => number): number =>
      allCounts.reduce((total, counts) => total + of(counts), 0);
    report.add({
      case: 'converge fleet',
      side: 'product',
      clusters: nodes / PER_CLUSTER,
      members: PER_CLUSTER,
      seconds,
      ratio: null,
      mib: sum(({ bytes }) => bytes) / 1_048_576,
      frames_per_member: sum(({ frames }) => frames) / nodes,
      wholes_per_member: sum(({ wholes }) => wholes) / nodes,
      admin_cpu_s: (cpuMs(admin.pid) - cpuBefore) / 1_000,
      rss_mib: rssBytes(admin.pid) / 1_048_576,
      empty_rss_mib: emptyBytes / 1_048_576,
      idle_before: calm.idlePercent,
      steal: spareBetween(times, readCpuTimes()).stealPercent,
      verdict: 'none',
    });
  } finally {
    await product.end();
  }
}

/** For this process and those that it starts from now on. */
function mayOpenFiles(): boolean {
  return spawnSync('prlimit', ['--pid', `${process.pid}`, `--nofile=${FILES_MAX}:${FILES_MAX}`]).status === 0;
}

/**
 * Real agents with real interfaces on an internet of namespaces, all of whom ping each new one by its name until it
 * answers.
 */
async function real(postgres: BenchServer, { report, nodes, names }: CaseOptions): Promise<void> {
  const members = names.length === 1 ? (nodes[0] ?? REAL) : REAL;
  const scope = createScope();
  try {
    const fixture = await startFixture(scope, undefined, await postgres.create('real'));
    await fixture.rest.post('/clusters', { name: 'bench' });
    const there: Member[] = [];
    for (let index = 0; index < members; index += 1)
      there.push(await fixture.member(await fixture.internet.host(`member-${index}`), 'bench'));
    await connected(...there);
    const calm = await awaitCalm();
    const series: number[] = [];
    for (let index = 0; index < REAL_JOINS; index += 1) {
      const fresh = await fixture.member(await fixture.internet.host(`new-${index}`), 'bench');
      await until('its session', () => fresh.program.output.includes('"Connected"'));
      const began = nowMs();
      await Promise.all(there.map((one) => until('an answer', () => pings(one, nodeName(fresh, 'bench')))));
      series.push((nowMs() - began) / 1_000);
      there.push(fresh);
    }
    const worst = quantile(series, 1);
    report.add({
      case: 'converge real',
      side: 'product',
      members,
      joins: REAL_JOINS,
      seconds: worst,
      median: quantile(series, 0.5),
      ratio: null,
      idle_before: calm.idlePercent,
      verdict: verdict(calm.quiet, worst <= REACHABLE_SECONDS_MAX),
    });
  } finally {
    await scope.end();
  }
}
