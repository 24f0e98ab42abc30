/**
 * `scrape`: a fleet that a real Prometheus scrapes through the admin: whether all are up, how long a scrape takes, and
 * what it costs the admin.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { configurationOf, startPrometheus } from '../../test/support/observability/prometheus.ts';
import { createScope } from '../../test/support/scope.ts';
import { until } from '../../test/support/until.ts';
import { startBenchServer, withClient } from '../fleet/database.ts';
import { insertNodes } from '../fleet/nodes.ts';
import { awaitCalm } from '../method/machine.ts';
import { quantile } from '../method/statistics.ts';
import { cpuMs, rssBytes } from '../method/usage.ts';
import { startWorker } from '../method/worker.ts';
import { findProgram, missingPackages } from '../peers/programs.ts';
import { newAdminPlace, startAdmin } from '../product/admin.ts';
import { verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 1_000;

/** Prometheus' interval, and how long it is watched, in s. */
const EVERY_SECONDS = 15;
const SECONDS = 75;

/** Longest wait for all targets to come up, in ms. */
const UP_MS_MAX = 60_000;

/** Targets. Source: docs/performance.md. */
const P99_SECONDS_MAX = 0.25;
const ADMIN_CPU_PERCENT_MAX = 20;

/** One fleet, one Prometheus. */
export async function scrape(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const missing = await missingPackages(options.install, ['prometheus']);
  const program = await findProgram('prometheus');
  if (program === undefined) {
    options.report.note(`not installed, so nothing is measured: ${missing.join(' ')} (--install installs it with apt)`);
    return;
  }
  const scope = createScope();
  try {
    const postgres = await startBenchServer();
    scope.teardown(() => postgres.stop());
    const database = await postgres.create('scrape');
    await withClient(database, (client) => insertNodes(client, nodes));
    const place = await newAdminPlace(database);
    const admin = await startAdmin(place);
    scope.teardown(() => admin.stop());
    const agents = await startWorker(new URL('../product/scraped-agents.ts', import.meta.url));
    scope.teardown(() => agents.end());
    const bytes = await agents.ask<number>('connect', { port: admin.port, nodes });
    const calm = await awaitCalm();

    const prometheus = await startPrometheus(
      scope,
      program,
      configurationOf(`http://127.0.0.1:${admin.port}`, place.masterKey, {
        everySeconds: EVERY_SECONDS,
        sources: ['host'],
      }),
    );
    await until(
      'all targets up',
      async () => (await prometheus.query('count(up == 1)'))[0]?.value === nodes,
      UP_MS_MAX,
    );
    const seconds = options.seconds ?? SECONDS;
    const watch = async (): Promise<void> => {
      const [began, cpuBefore, answeredBefore] = [
        performance.now(),
        cpuMs(admin.pid),
        await agents.ask<number>('answered'),
      ];
      await delay(seconds * 1_000);
      const cpuPercent = ((cpuMs(admin.pid) - cpuBefore) / (performance.now() - began)) * 100;
      const scrapes = (await agents.ask<number>('answered')) - answeredBefore;
      const took = await prometheus.samples(`scrape_duration_seconds[${seconds}s]`);
      const ups = await prometheus.samples(`up[${seconds}s]`);
      const up = (await prometheus.query('count(up == 1)'))[0]?.value ?? 0;
      const p99 = quantile(took, 0.99);
      options.report.add({
        case: 'scrape',
        side: 'product',
        nodes,
        seconds: quantile(took, 0.5),
        p99,
        worst: Math.max(...took),
        ratio: null,
        up,
        scrapes,
        failed: ups.filter((one) => one !== 1).length,
        exposition_kib: bytes / 1_024,
        admin_cpu_percent: cpuPercent,
        admin_cpu_ms_each: (cpuPercent * seconds * 10) / scrapes,
        admin_rss_mib: rssBytes(admin.pid) / 1_048_576,
        idle_before: calm.idlePercent,
        verdict: verdict(calm.quiet, up === nodes && p99 <= P99_SECONDS_MAX && cpuPercent <= ADMIN_CPU_PERCENT_MAX),
      });
    };
    await watch();
    if (options.profileDir !== undefined) {
      await mkdir(options.profileDir, { recursive: true });
      const inspector = await admin.inspect();
      await inspector.profile(join(options.profileDir, 'scrape.cpuprofile'), () => delay(2 * EVERY_SECONDS * 1_000));
      inspector.close();
    }
  } finally {
    await scope.end();
  }
}
