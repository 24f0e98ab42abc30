/**
 * `updates machines`: real agents with real updaters below a real admin that serves the releases: how long an agent is
 * away, what a release costs a machine, and how many machines a bad one touches.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Outcome } from '../../agent/updater/state.ts';
import { createClient } from '../../cli/service/client.ts';
import { publishRepository } from '../../cli/release/publish.ts';
import { createReleases, type ReleaseFixture } from '../../test/support/releases/releases.ts';
import { createScope } from '../../test/support/scope.ts';
import { until } from '../../test/support/until.ts';
import { realBundles } from '../../test/support/updater/real-bundles.ts';
import { realMachine, type RealMachine } from '../../test/support/updater/real-machine.ts';
import { BENCH_DIR, startBenchServer } from '../fleet/database.ts';
import { quantile } from '../method/statistics.ts';
import { newAdminPlace, startAdmin, type AdminProcess } from '../product/admin.ts';
import type { CaseOptions } from './options.ts';

/** Machines: two programs each. */
const MACHINES = 4;

/** Good releases, one after the other. */
const ROUNDS = 5;

/** Longest that a machine may be away, in s. Source: docs/performance.md. */
const AWAY_SECONDS_MAX = 5;

/** What is to become of one request, in ms. */
const REQUEST_MS_MAX = 180_000;

const CLUSTER = 'bench';

/** What makes an agent so that passes its own check and then: ends at once, says nothing, finds no admin. */
const BROKEN: Readonly<Record<string, (text: string) => string>> = {
  crashes: (text) => atStart(text, 'process.exit(1)'),
  hangs: (text) => atStart(text, 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0)'),
  'cannot-connect': (text) => text.replaceAll('/api/v1/agents/session', '/api/v1/agents/nowhere'),
};

/** Behind the line that names the interpreter. */
function atStart(text: string, deed: string): string {
  return text.replace(/^(?:#!.*\n)?/u, (line) => `${line}if(process.argv[2]==='up')${deed};`);
}

interface Fleet {
  readonly admin: AdminProcess;
  readonly releases: ReleaseFixture;
  readonly machines: readonly RealMachine[];
  publish(version: string, change?: (text: string) => string): Promise<void>;
}

/** Machines are updated one by one, as many rounds as are asked for; then each kind of bad release once. */
export async function machines(options: CaseOptions): Promise<void> {
  const scope = createScope();
  try {
    const fleet = await startFleet(scope);
    await good(options, fleet);
    let number = 0;
    for (const [kind, change] of Object.entries(BROKEN)) {
      number += 1;
      await fleet.publish(`0.2.${number}`, change);
      await bad(options, fleet, kind, `0.2.${number}`);
    }
  } finally {
    await scope.end();
  }
}

async function startFleet(scope: ReturnType<typeof createScope>): Promise<Fleet> {
  await mkdir(BENCH_DIR, { recursive: true });
  const directory = await mkdtemp(join(BENCH_DIR, 'updates-'));
  scope.teardown(() => rm(directory, { recursive: true, force: true }));
  const postgres = await startBenchServer();
  scope.teardown(() => postgres.stop());
  const place = await newAdminPlace(await postgres.create('machines'));
  const admin = await startAdmin(place);
  scope.teardown(() => admin.stop());
  const [releases, bundles] = await Promise.all([createReleases(join(directory, 'releases')), realBundles(directory)]);
  const url = `http://127.0.0.1:${admin.port}`;
  const connection = { url, key: place.masterKey };
  const publish: Fleet['publish'] = async (version, change = (text) => text) => {
    const files = bundles(version);
    await releases.add({ version, files: { ...files, 'edge-agent.cjs': change(files['edge-agent.cjs']) } });
    await releases.promote(version);
    await publishRepository(releases.repository, { api: createClient(connection), connection });
  };
  await publish('0.1.0');
  await admin.http.call('POST', '/clusters', { name: CLUSTER });
  const installed: RealMachine[] = [];
  for (let number = 0; number < MACHINES; number += 1) {
    const { key } = await admin.http.call<{ key: string }>('POST', `/clusters/${CLUSTER}/enrollment_keys`, {});
    const machine = await realMachine(scope, {
      directory: join(directory, `machine-${number}`),
      installer: join(directory, 'edge-updater.cjs'),
      root: releases.root,
      agentEnv: { ENROLLMENT_KEY: key, VPN_ENABLED: 'false' },
      updaterEnv: { UPDATER_ADMIN_URLS: url },
    });
    await machine.connected('0.1.0');
    installed.push(machine);
  }
  return { admin, releases, machines: installed, publish };
}

async function good({ report, repeats = ROUNDS }: CaseOptions, fleet: Fleet): Promise<void> {
  const awaySeconds: number[] = [];
  const began = performance.now();
  for (let round = 1; round <= repeats; round += 1) {
    const version = `0.1.${round}`;
    await fleet.publish(version);
    const request = await requested(fleet, {});
    for (const machine of fleet.machines) {
      const outcome = await outcomeOf(machine, request);
      if (outcome.outcome !== 'updated') throw new Error(`${version}: ${outcome.outcome}: ${outcome.error}`);
      awaySeconds.push((outcome.away_ms ?? Number.NaN) / 1_000);
    }
  }
  const { files } = fleet.releases.repository.describe('releases/0.1.1/linux-x64.json');
  const bytes = files.filter(({ name }) => name !== 'node').reduce((sum, file) => sum + file.packed_bytes, 0);
  report.add({
    case: 'updates',
    side: 'machines, good',
    nodes: fleet.machines.length,
    seconds: (performance.now() - began) / 1_000,
    ratio: null,
    updated: awaySeconds.length,
    away_p50: quantile(awaySeconds, 0.5),
    away_p99: quantile(awaySeconds, 0.99),
    away_max: Math.max(...awaySeconds),
    release_kib: bytes / 1_024,
    verdict: awaySeconds.every((seconds) => seconds <= AWAY_SECONDS_MAX) ? 'met' : 'missed',
  });
}

/** One machine at a time, and none after the first that went back. */
async function bad({ report }: CaseOptions, fleet: Fleet, kind: string, version: string): Promise<void> {
  const began = performance.now();
  const starts = fleet.machines.map(({ agent }) => agent.starts);
  const request = await requested(fleet, { max_failures: 1 });
  const touched = fleet.machines.filter(({ agent }, index) => agent.starts !== starts[index]);
  for (const machine of touched) await outcomeOf(machine, request);
  const versions = fleet.machines.map((machine) => machine.health()?.version);
  const rows = await fleet.admin.http.call<readonly { status: string }[]>(
    'GET',
    `/self_update_requests/${request}/nodes`,
  );
  const count = (status: string) => rows.filter((row) => row.status === status).length;
  report.add({
    case: 'updates',
    side: `machines, ${kind}`,
    nodes: fleet.machines.length,
    seconds: (performance.now() - began) / 1_000,
    ratio: null,
    touched: touched.length,
    rolled_back: count('rolled_back'),
    skipped: count('skipped'),
    verdict: touched.length === 1 && count('rolled_back') === 1 && !versions.includes(version) ? 'met' : 'missed',
  });
}

/** Has all healthy machines updated, one at a time; the request, once it is completed. */
async function requested({ admin, machines: all }: Fleet, more: object): Promise<string> {
  await until('healthy machines with updaters', async () => {
    const nodes = await admin.http.call<readonly { status: string }[]>('GET', '/nodes');
    if (nodes.filter(({ status }) => status === 'healthy').length !== all.length) return false;
    const answers = await Promise.all(all.map((machine) => machine.call('GET', '/livez')));
    return answers.every(({ status }) => status === 200);
  });
  const { id } = await admin.http.call<{ id: string }>('POST', '/self_update_requests', {
    targeting: { type: 'all' },
    batch_size: 1,
    health_timeout: 120,
    ...more,
  });
  await until(
    'the end of the request',
    async () => {
      const { status } = await admin.http.call<{ status: string }>('GET', `/self_update_requests/${id}`);
      if (status === 'completed') return true;
      await wait(100);
      return false;
    },
    REQUEST_MS_MAX,
  );
  return id;
}

/** What an updater says came of a request, once it is done. */
function outcomeOf(machine: RealMachine, request: string): Promise<Outcome> {
  return until('the outcome', async () => {
    const answer = await machine.call('GET', '/v1/outcome');
    const outcome = (await answer.json()) as Outcome;
    return outcome.request === request ? outcome : null;
  });
}
