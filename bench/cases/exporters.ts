/**
 * `exporters`: a scrape of this machine by the agent beside one by node_exporter, and how much of the community's
 * dashboard each serves.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createScope } from '../../test/support/scope.ts';
import { DASHBOARD_NAMES } from '../../test/support/observability/dashboard-names.ts';
import { EXPORTER_PATH } from '../../transport/protocol/agent-api.ts';
import { startBenchServer } from '../fleet/database.ts';
import { freePort } from '../fleet/ports.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { cpuMs, rssBytes } from '../method/usage.ts';
import { startNodeExporter } from '../peers/node-exporter.ts';
import { findProgram, missingPackages } from '../peers/programs.ts';
import { newAdminPlace, startAdmin } from '../product/admin.ts';
import { startAgent } from '../product/agent-program.ts';
import { compare, verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** Scrapes of one round, and rounds: one scrape is too short for the counters of processor time. */
const SCRAPES = 20;
const REPEATS = 15;

/** Wait until the agent's start is over, in ms: its memory before the first scrape is that of an idle one. */
const REST_MS = 10_000;

/** Targets. Source: docs/performance.md. */
const CPU_MS_MAX = 5;
const SHARE_MIN = 0.9;

const MIB = 1_048_576;

interface Exporter {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  /** Before its first scrape. */
  readonly rssBytesBefore: number;
}

/** The real agent, enrolled at an admin, whose whole process is counted: also what it does besides. */
export async function exporters(options: CaseOptions): Promise<void> {
  const missing = await missingPackages(options.install, ['prometheus-node-exporter']);
  const program = await findProgram('prometheus-node-exporter');
  if (program === undefined)
    return options.report.note(`exporters needs ${missing.join(' ')} (--install installs with apt): it is left out`);
  const scope = createScope();
  try {
    const postgres = await startBenchServer();
    scope.teardown(() => postgres.stop());
    const admin = await startAdmin(await newAdminPlace(await postgres.create('product')));
    scope.teardown(() => admin.stop());
    const port = await freePort();
    const agent = await startAgent(admin, { env: { AGENT_HOST_METRICS_PORT: String(port) } });
    scope.teardown(() => agent.stop());
    const theirs = await startNodeExporter(program);
    scope.teardown(() => theirs.end());
    await delay(REST_MS);
    const sides = [
      { name: 'node_exporter', pid: theirs.pid, url: theirs.url },
      { name: 'product', pid: agent.pid, url: `http://127.0.0.1:${port}${EXPORTER_PATH}` },
    ].map((side): Exporter => ({ ...side, rssBytesBefore: rssBytes(side.pid) }));

    const result = await interleave(
      sides.map((side): Side => ({ name: side.name, run: () => scrapes(side) })),
      options.repeats ?? REPEATS,
      3,
    );
    const texts = new Map<string, string>();
    for (const { name, url } of sides) texts.set(name, await scrape(url));
    const shares = sharesOf(texts);
    for (const finding of compare('exporters', { scrapes: SCRAPES }, result, undefined, 'node_exporter')) {
      const side = sides.find(({ name }) => name === finding.side);
      const { ofAll = 0, ofTheirs = 0 } = shares.get(finding.side) ?? {};
      const met = Number(finding['cpu_ms']) < CPU_MS_MAX && ofTheirs >= SHARE_MIN;
      options.report.add({
        ...finding,
        rss_mib: rssBytes(side?.pid ?? 0) / MIB,
        rss_mib_before: (side?.rssBytesBefore ?? 0) / MIB,
        dashboard_names: DASHBOARD_NAMES.length,
        share_of_names: ofAll,
        share_of_theirs: ofTheirs,
        verdict: finding.side === 'product' ? verdict(result.calmBefore.quiet, met) : 'none',
      });
    }
  } finally {
    await scope.end();
  }
}

async function scrapes({ pid, url }: Exporter): Promise<{ seconds: number; readings: Record<string, number> }> {
  const cpuBefore = cpuMs(pid);
  const began = performance.now();
  let bytes = 0;
  let samples = 0;
  for (let count = 0; count < SCRAPES; count += 1) {
    const text = await scrape(url);
    bytes = text.length;
    samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
  }
  const seconds = (performance.now() - began) / 1_000;
  return {
    seconds: seconds / SCRAPES,
    readings: { cpu_ms: (cpuMs(pid) - cpuBefore) / SCRAPES, kib: bytes / 1_024, samples },
  };
}

async function scrape(url: string): Promise<string> {
  const answer = await fetch(url, { headers: { 'accept-encoding': 'identity' } });
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
  return answer.text();
}

/** The share of the dashboard's names that each serves here: of all, and of those that node_exporter serves. */
function sharesOf(texts: ReadonlyMap<string, string>): Map<string, { ofAll: number; ofTheirs: number }> {
  const served = new Map(
    [...texts].map(([name, text]) => [
      name,
      new Set([...text.matchAll(/^# TYPE (?<family>\S+) /gmu)].map(({ groups }) => groups?.['family'] ?? '')),
    ]),
  );
  const there = DASHBOARD_NAMES.filter((name) => served.get('node_exporter')?.has(name));
  return new Map(
    [...served].map(([name, families]) => [
      name,
      {
        ofAll: DASHBOARD_NAMES.filter((family) => families.has(family)).length / DASHBOARD_NAMES.length,
        ofTheirs: there.filter((family) => families.has(family)).length / there.length,
      },
    ]),
  );
}
