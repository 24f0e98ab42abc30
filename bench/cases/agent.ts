/** `agent`: what the real agent program takes while nothing is asked of it. */
import { setTimeout as delay } from 'node:timers/promises';
import { startBenchServer } from '../fleet/database.ts';
import { awaitCalm } from '../method/machine.ts';
import { rssBytes, treeCpuMs, treeOf } from '../method/usage.ts';
import { startWorker } from '../method/worker.ts';
import { newAdminPlace, startAdmin, type AdminProcess } from '../product/admin.ts';
import { startAgent } from '../product/agent-program.ts';
import { verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** Length of the look, in s, after a rest in which the start is over. */
const SECONDS = 60;
const REST_MS = 10_000;

/** Targets. Source: docs/performance.md. */
const RSS_MIB_MAX = 80;
const CPU_PERCENT_MAX = 0.5;

/**
 * Memory and processor of an idle agent, and of the floor, at the same time: neither does enough to disturb the other.
 */
export async function agent(options: CaseOptions): Promise<void> {
  const postgres = await startBenchServer();
  const floorServer = await startWorker(new URL('../floor/idle-agent.ts', import.meta.url));
  const floor = await startWorker(new URL('../floor/idle-agent.ts', import.meta.url));
  let admin: AdminProcess | undefined;
  try {
    await floor.ask('dial', await floorServer.ask('listen'));
    admin = await startAdmin(await newAdminPlace(await postgres.create('product')));
    const agent = await startAgent(admin);
    try {
      await delay(REST_MS);
      const calm = await awaitCalm();
      const { pid } = agent;
      const seconds = options.seconds ?? SECONDS;
      const before = [treeCpuMs(floor.pid), treeCpuMs(pid)];
      await delay(seconds * 1_000);
      const [floorCpu, ourCpu] = [treeCpuMs(floor.pid), treeCpuMs(pid)].map(
        (ms, index) => (ms - (before[index] ?? 0)) / (seconds * 10),
      );
      const [floorMib, ourMib] = [rssBytes(floor.pid) / 1_048_576, rssBytes(pid) / 1_048_576];
      options.report.add({
        case: 'agent',
        side: 'floor',
        seconds,
        ratio: null,
        rss_mib: floorMib,
        cpu_percent: floorCpu ?? 0,
        processes: 1,
        idle_before: calm.idlePercent,
        verdict: 'none',
      });
      options.report.add({
        case: 'agent',
        side: 'product',
        seconds,
        ratio: floorMib / ourMib,
        rss_mib: ourMib,
        cpu_percent: ourCpu ?? 0,
        processes: treeOf(pid).length,
        idle_before: calm.idlePercent,
        verdict: verdict(calm.quiet, ourMib <= RSS_MIB_MAX && (ourCpu ?? 0) <= CPU_PERCENT_MAX),
      });
    } finally {
      await agent.stop();
    }
  } finally {
    await floor.end();
    await floorServer.end();
    await admin?.stop();
    await postgres.stop();
  }
}
