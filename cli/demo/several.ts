/** The demo with several admins: one PostgreSQL, a balancer before them, and what is left when one of them dies. */
import { startEmbeddedPostgres } from '../../persistence/embedded/launcher.ts';
import { createLog } from '../../transport/net/pino-log.ts';
import { createClient, type Api } from '../service/client.ts';
import type { Connection } from '../service/connection.ts';
import { Problem } from '../problem.ts';
import { showRun } from './shown-run.ts';
import { BALANCE_AFTER_MS, startAdmins, targetingOf, type DemoAdmin } from './admins.ts';
import { ensureCluster, startAgents } from './fleet.ts';
import type { DemoHome } from './home.ts';
import { portsFor, sayPort } from './ports.ts';
import { killRound } from './kill-round.ts';
import { ownersNow, OwnerWatch } from './owner-watch.ts';
import type { Running } from './running.ts';
import { severalSteps } from './several-steps.ts';

/** Its clusters, an agent in each: enough that each admin owns one at least. */
const CLUSTERS = ['berlin', 'lagos', 'lima', 'oslo', 'pune', 'quito'] as const;

/** What runs on all nodes. */
const SCRIPT = 'echo "hello from $(uname -s) on $(uname -m)"';

/** How it is asked for. */
export interface SeveralOptions {
  /** From 2 to as many as there are clusters. */
  readonly admins: number;
  readonly exit: boolean;
  readonly port: number | null;
}

/** What it tells and hears. */
export interface SeveralPorts {
  readonly say: (line: string) => void;
  /** Aborts when the demo is to end. */
  readonly stop: AbortSignal;
}

/** Starts everything, runs a command, and goes on until an agent or the last admin ends. Answers an exit status. */
export async function demonstrateSeveral(
  home: DemoHome,
  options: SeveralOptions,
  running: Running,
  { say, stop }: SeveralPorts,
): Promise<number> {
  const ports = await portsFor(options.port, home.ports);
  if (options.port === null) sayPort(ports.api, home.ports.api, say);
  const connection = { url: `http://127.0.0.1:${ports.api}`, key: home.key };

  say(`Starting ${options.admins} admins on one PostgreSQL, behind a balancer ...`);
  running.addEnd(await holdDatabase(home.path('admin')));
  const admins = await startAdmins(home, options.admins, ports, running);
  home.rememberPorts(ports);
  say(`Starting ${CLUSTERS.length} agents, each in a cluster of its own ...`);
  for (const [place, cluster] of CLUSTERS.entries()) {
    const url = admins[place % admins.length]?.url ?? connection.url;
    await ensureCluster(createClient({ url, key: home.key }), cluster); // who creates a cluster owns it
  }
  const adminUrls = [connection.url, ...admins.map(({ url }) => url)];
  const agents = CLUSTERS.map((cluster) => ({ name: `${cluster}-1`, cluster, adminUrls }));
  await startAgents(home, connection, agents, running.addAgent);

  const api = createClient(connection);
  const status = await runOnAll(connection, { api, say, stop });
  if (status !== 0) return status;
  say(`\n${ownersTable(admins, await ownersNow(api))}`);
  const watch = new OwnerWatch(api, admins, say);
  const failed = Promise.race([lastEnd(admins), ...running.agents.map((agent) => agent.failed)]);
  try {
    if (options.exit)
      return await Promise.race([killRound({ connection, admins, clusters: CLUSTERS, watch, say }), failed]);
    say(`\n${severalSteps({ connection, ports, admins })}\nCtrl-C ends everything.`);
    return await failed;
  } finally {
    watch.end();
  }
}

async function runOnAll(
  connection: Connection,
  { api, say, stop }: SeveralPorts & { readonly api: Api },
): Promise<number> {
  say(`Running on all nodes by way of the balancer: ${SCRIPT}\n`);
  const command = { command_text: SCRIPT, targeting: targetingOf(CLUSTERS), timeout: 30_000 };
  return showRun(api, connection, command, stop);
}

/** Rejects when none of them is left. */
async function lastEnd(admins: readonly DemoAdmin[]): Promise<never> {
  await Promise.all(admins.map(({ ended }) => ended));
  throw new Problem('the last admin is gone: start the demo again');
}

function ownersTable(admins: readonly DemoAdmin[], owners: ReadonlyMap<string, string>): string {
  const rows = admins.map(({ name, pid, url }) => [
    name,
    String(pid),
    url,
    [...owners].flatMap(([cluster, owner]) => (owner === name ? [cluster] : [])).join(', ') ||
      `nothing yet: it gets its share ${BALANCE_AFTER_MS / 1_000} s after its start`,
  ]);
  const lines = [['ADMIN', 'PROCESS', 'URL', 'OWNS'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/**
 * Starts the PostgreSQL that the demo's admins share, on their DATA_DIR: they take it over as it runs there, and it
 * outlives each of them. Answers what ends it, once they have ended.
 */
async function holdDatabase(dataDir: string): Promise<() => Promise<void>> {
  const postgres = await startEmbeddedPostgres({ dataDir, log: createLog('demo', 'silent') });
  return () => postgres.stop();
}
