#!/usr/bin/env node
/**
 * `npm run demo`: an admin, or several, agents and a command on all of them, on this machine, with nothing to install.
 */
import { parseArgs } from 'node:util';
import { createClient } from './service/client.ts';
import { DEMO_CLUSTER, ensureCluster, startAdmin, startAgents } from './demo/fleet.ts';
import { openHome, type DemoHome } from './demo/home.ts';
import { allowLogin } from './demo/login.ts';
import { nextSteps } from './demo/next-steps.ts';
import { firstFree, sayPort, startedOnPorts } from './demo/ports.ts';
import { Running } from './demo/running.ts';
import { EXIT, Problem, problemOf } from './problem.ts';
import { showRun } from './demo/shown-run.ts';

/** Admins that this machine should be asked to run at once: each of them owns one of the demo's clusters at least. */
const ADMINS_MAX = 6;

const USAGE = `npm run demo [-- OPTIONS]

  --admins NUMBER   several admins behind a balancer, at most ${ADMINS_MAX}, to see what is left when one is killed (default 1)
  --exit            end after the command, with a status that tells whether all went well; with several admins one of
                    them is killed before, and nothing may be lost
  --port PORT       port of the admin; without it that of the last time, 44000, or a free one when these are taken
  --data DIRECTORY  where it lives from one run to the next (default .data/demo; with several admins .data/demo-admins)
  --help
`;

/** Agents of the demo. */
const AGENTS = 3;

/** Local port of the forward that people are told to try. */
const FORWARD_PORT = 8_080;

/** What runs on all three. */
const SCRIPT = 'echo "hello from $(uname -s) on $(uname -m)"';

interface Options {
  readonly admins: number;
  readonly exit: boolean;
  readonly port: number | null;
  readonly data: string;
}

process.exitCode = await main();

async function main(): Promise<number> {
  const stopped = interruption();
  let running: Running | null = null;
  try {
    const options = optionsFrom(process.argv.slice(2));
    if (options === null) return EXIT.ok;
    const home = await openHome(options.data);
    running = new Running(home);
    return await Promise.race([demonstrated(home, options, running, stopped.signal), stopped.reached]);
  } catch (error) {
    process.stderr.write(`demo: ${problemOf(error, { url: 'the admin', key: null }).message}\n`);
    return error instanceof Problem ? error.status : EXIT.failed;
  } finally {
    if (running?.isAny() === true) say(`Ending agents and ${running.admins.length > 1 ? 'admins' : 'admin'} ...`);
    await running?.end();
  }
}

async function demonstrated(home: DemoHome, options: Options, running: Running, stop: AbortSignal): Promise<number> {
  if (options.admins === 1) return demonstrate(home, options, running, stop);
  const { demonstrateSeveral } = await import('./demo/several.ts'); // which brings the database
  return demonstrateSeveral(home, options, running, { stop, say });
}

async function demonstrate(home: DemoHome, options: Options, running: Running, stop: AbortSignal): Promise<number> {
  const { ports, started: connection } = await startedOnPorts(
    options.port,
    home.ports,
    async (tried) => {
      if (options.port === null) sayPort(tried.api, home.ports.api, say);
      say('Starting an admin on a PostgreSQL of its own ...');
      return startAdmin(home, tried, running.addAdmin);
    },
    running.dropAdmins,
  );
  home.rememberPorts(ports);
  say(`Starting ${AGENTS} agents, each a process of its own ...`);
  const agents = Array.from({ length: AGENTS }, (_none, place) => ({
    name: `demo-${place + 1}`,
    cluster: DEMO_CLUSTER,
    adminUrls: [connection.url],
  }));
  await ensureCluster(createClient(connection), DEMO_CLUSTER);
  await startAgents(home, connection, agents, running.addAgent);

  say(`Running on all nodes of the cluster ${DEMO_CLUSTER}: ${SCRIPT}\n`);
  const command = {
    command_text: SCRIPT,
    targeting: { type: 'clusters' as const, cluster_names: [DEMO_CLUSTER], node_filters: { status: 'healthy' } },
    timeout: 30_000,
  };
  const api = createClient(connection);
  const status = await showRun(api, connection, command, stop);
  if (options.exit || status !== EXIT.ok) return status;

  const facts = {
    connection,
    ports,
    login: await allowLogin(home, api),
    forwardPort: await firstFree([FORWARD_PORT], Object.values(ports)),
  };
  say(`\n${nextSteps(facts)}\nCtrl-C ends everything.`);
  return Promise.race([...running.admins, ...running.agents].map(({ failed }) => failed));
}

/**
 * Ctrl-C or SIGTERM: `reached` resolves with the status to end with. A second one is left to Node, which ends the
 * process.
 */
function interruption(): { readonly signal: AbortSignal; readonly reached: Promise<number> } {
  const controller = new AbortController();
  const reached = new Promise<number>((resolve) => {
    // whoever read it has gone (`| head`): end in order all the same
    process.stdout.on('error', () => resolve(EXIT.failed));
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => {
        controller.abort();
        resolve(EXIT.ok);
      });
    }
  });
  return { signal: controller.signal, reached };
}

function optionsFrom(args: readonly string[]): Options | null {
  const parsed = parsedArgs(args);
  if (parsed.help === true) {
    process.stdout.write(USAGE);
    return null;
  }
  const port = parsed.port === undefined ? null : Number(parsed.port);
  if (port !== null && (!Number.isInteger(port) || port < 1 || port > 65_535))
    throw new Problem(`--port is "${parsed.port ?? ''}": it should be a whole number from 1 to 65535`, EXIT.usage);
  const admins = Number(parsed.admins ?? '1');
  if (!Number.isInteger(admins) || admins < 1 || admins > ADMINS_MAX)
    throw new Problem(
      `--admins is "${parsed.admins ?? ''}": it should be a whole number from 1 to ${ADMINS_MAX}`,
      EXIT.usage,
    );
  const data = parsed.data ?? (admins === 1 ? '.data/demo' : '.data/demo-admins');
  return { admins, exit: parsed.exit === true, port, data };
}

function parsedArgs(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        admins: { type: 'string' },
        exit: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        port: { type: 'string' },
        data: { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw new Problem(
      `${(error as Error).message.split(/\n|\. To specify/u)[0] ?? 'wrong arguments'} (npm run demo -- --help lists what there is)`,
      EXIT.usage,
    );
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
