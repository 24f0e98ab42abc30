/**
 * `discovery`: the complete list of a large fleet, as Prometheus asks for it: how long it takes, and what the admin
 * holds meanwhile.
 */
import { request } from 'node:http';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createScope } from '../../test/support/scope.ts';
import { startBenchServer, withClient } from '../fleet/database.ts';
import { insertNodes } from '../fleet/nodes.ts';
import { awaitCalm } from '../method/machine.ts';
import { quantile } from '../method/statistics.ts';
import { cpuMs, rssBytes } from '../method/usage.ts';
import { newAdminPlace, startAdmin } from '../product/admin.ts';
import { verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 100_000;
const REPEATS = 10;

/** Rest after a collection, in ms: freed pages are given back a moment later. */
const SETTLE_MS = 1_000;

/** How often memory is looked at, in ms. */
const LOOK_MS = 5;

/** Targets. Source: docs/performance.md. */
const SECONDS_MAX = 1;
const MEMORY_MIB_MAX = 64;

/**
 * One list after another, each whole, each by an admin whose garbage was collected: what it takes beyond that is the
 * list's.
 */
export async function discovery(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const scope = createScope();
  try {
    const postgres = await startBenchServer();
    scope.teardown(() => postgres.stop());
    const database = await postgres.create('discovery');
    await withClient(database, (client) => insertNodes(client, nodes));
    const place = await newAdminPlace(database);
    const admin = await startAdmin(place);
    scope.teardown(() => admin.stop());
    await admin.http.call('GET', '/nodes?page_size=100'); // code that is loaded with the first request
    const one = () => list(admin.port, place.masterKey);
    const inspector = await admin.inspect();
    scope.teardown(() => inspector.close());
    const calm = await awaitCalm();
    let peakBytes = 0;
    const looking = setInterval(() => {
      peakBytes = Math.max(peakBytes, rssBytes(admin.pid));
    }, LOOK_MS);
    const [took, cpu, grown] = [[] as number[], [] as number[], [] as number[]];
    let [entries, bytes, emptyBytes] = [0, 0, 0];
    for (let round = 0; round < (options.repeats ?? REPEATS); round += 1) {
      await inspector.collectGarbage();
      await delay(SETTLE_MS);
      emptyBytes = rssBytes(admin.pid);
      peakBytes = emptyBytes;
      const cpuBefore = cpuMs(admin.pid);
      const answer = await one();
      took.push(answer.seconds);
      cpu.push(cpuMs(admin.pid) - cpuBefore);
      grown.push((peakBytes - emptyBytes) / 1_048_576);
      ({ bytes } = answer);
      entries = (JSON.parse(answer.text) as unknown[]).length;
    }
    clearInterval(looking);
    const grownMib = Math.max(...grown);
    const p95 = quantile(took, 0.95);
    options.report.add({
      case: 'discovery',
      side: 'product',
      nodes,
      seconds: quantile(took, 0.5),
      best: Math.min(...took),
      p95,
      ratio: null,
      entries,
      body_mib: bytes / 1_048_576,
      admin_cpu_ms: quantile(cpu, 0.5),
      admin_mib_empty: emptyBytes / 1_048_576,
      admin_mib_more: grownMib,
      idle_before: calm.idlePercent,
      verdict: verdict(
        calm.quiet,
        entries === nodes && quantile(took, 0.5) <= SECONDS_MAX && grownMib <= MEMORY_MIB_MAX,
      ),
    });
    if (options.profileDir !== undefined) {
      await mkdir(options.profileDir, { recursive: true });
      await inspector.profile(join(options.profileDir, 'discovery.cpuprofile'), async () => {
        for (let round = 0; round < 5; round += 1) await one();
      });
    }
  } finally {
    await scope.end();
  }
}

/** From the request to the last byte; the text is put together afterwards. */
function list(
  port: number,
  key: string,
): Promise<{ readonly seconds: number; readonly bytes: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const pieces: Buffer[] = [];
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path: '/api/v1/nodes/metrics/host/discovery',
        headers: { authorization: `Bearer ${key}` },
      },
      (response) => {
        response
          .on('data', (piece: Buffer) => pieces.push(piece))
          .on('error', reject)
          .on('end', () => {
            const seconds = (performance.now() - began) / 1_000;
            const whole = Buffer.concat(pieces);
            resolve({ seconds, bytes: whole.length, text: whole.toString() });
          });
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}
