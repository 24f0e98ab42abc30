#!/usr/bin/env node
/** `npm run demo`: an admin, three agents and a command on all of them, on this machine, with nothing to install. */
import { parseArgs } from 'node:util';
import { createClient, createLiveClient } from './client.ts';
import type { Connection } from './connection.ts';
import { DEMO_CLUSTER, startAdmin, startAgents, type ProxyPorts } from './demo/fleet.ts';
import { openHome, type DemoHome } from './demo/home.ts';
import { portFor } from './demo/ports.ts';
import type { RunningProgram } from './demo/processes.ts';
import { EXIT, Problem, problemOf } from './problem.ts';
import { runCommand } from './run/run.ts';

const USAGE = `npm run demo [-- OPTIONS]

  --exit            end after the command, with a status that tells whether all went well
  --port PORT       port of the admin; without it 44000, or a free one when that is taken
  --data DIRECTORY  where it lives from one run to the next (default .data/demo)
  --help
`;

/** Agents of the demo. */
const AGENTS = 3;

/** Where an admin usually listens. Source: docs/settings.md. */
const USUAL_PORT = 44_000;
const USUAL_HTTP_PROXY_PORT = 43_128;
const USUAL_SOCKS5_PROXY_PORT = 41_080;

/** What runs on all three. */
const SCRIPT = 'echo "hello from $(uname -s) on $(uname -m)"';

interface Options {
  readonly exit: boolean;
  readonly port: number | null;
  readonly data: string;
}

process.exitCode = await main();

async function main(): Promise<number> {
  const programs: RunningProgram[] = [];
  const stopped = interruption();
  let home: DemoHome | null = null;
  try {
    const options = optionsFrom(process.argv.slice(2));
    if (options === null) return EXIT.ok;
    home = await openHome(options.data);
    return await Promise.race([demonstrate(home, options, programs, stopped.signal), stopped.reached]);
  } catch (error) {
    process.stderr.write(`demo: ${problemOf(error, { url: 'the admin', key: null }).message}\n`);
    return error instanceof Problem ? error.status : EXIT.failed;
  } finally {
    if (programs.length > 0) say('Ending agents and admin ...');
    // Agents first: an admin that goes away makes them look for another.
    await Promise.all(programs.slice(1).map((program) => program.stop()));
    await programs[0]?.stop();
    home?.forget();
  }
}

async function demonstrate(
  home: DemoHome,
  options: Options,
  programs: RunningProgram[],
  stop: AbortSignal,
): Promise<number> {
  const started = (program: RunningProgram): void => {
    programs.push(program);
    home.remember(programs.map(({ pid }) => pid));
  };
  const { port, isUsual } = await portFor(options.port, USUAL_PORT);
  const proxyPorts = {
    http: (await portFor(null, USUAL_HTTP_PROXY_PORT)).port,
    socks5: (await portFor(null, USUAL_SOCKS5_PROXY_PORT)).port,
  };
  if (!isUsual) say(`Port ${USUAL_PORT} is taken, so this one listens on ${port}.`);

  say('Starting an admin on a PostgreSQL of its own ...');
  const connection = await startAdmin(home, port, proxyPorts, started);
  say(`Starting ${AGENTS} agents, each a process of its own ...`);
  await startAgents(home, connection, AGENTS, started);

  say(`Running on all nodes of the cluster ${DEMO_CLUSTER}: ${SCRIPT}\n`);
  const live = createLiveClient(connection);
  const command = {
    command_text: SCRIPT,
    targeting: { type: 'clusters' as const, cluster_names: [DEMO_CLUSTER], node_filters: { status: 'healthy' } },
    timeout: 30_000,
  };
  const status = await runCommand(createClient(connection), live, command, {
    format: 'table',
    summary: 'grouped',
    isRaw: false,
    isColoured: false,
    waitsForAway: true,
    isFramed: false,
    cancel: stop,
    leave: stop,
  }).finally(() => live.close());
  if (options.exit || status !== EXIT.ok) return status;

  say(`\n${nextSteps(connection, proxyPorts)}\nCtrl-C ends everything.`);
  return Promise.race(programs.map(({ failed }) => failed));
}

function nextSteps({ url, key }: Connection, proxyPorts: ProxyPorts): string {
  const proxy = `http://127.0.0.1:${proxyPorts.http}`;
  return [
    `API            ${url}/api/v1`,
    `Key            ${key ?? ''}`,
    `HTTP proxy     ${proxy}`,
    `SOCKS5 proxy   socks5h://127.0.0.1:${proxyPorts.socks5}`,
    `Documentation  ${url}/`,
    '',
    'Try next, in another terminal:',
    '',
    `  export EDGE_URL=${url} EDGE_API_KEY=${key ?? ''}${proxyPorts.http === USUAL_HTTP_PROXY_PORT ? '' : ` EDGE_PROXY_URL=${proxy}`}`,
    '  curl -H "Authorization: Bearer $EDGE_API_KEY" $EDGE_URL/api/v1/nodes',
    '  npx edge node ls',
    `  npx edge run -c ${DEMO_CLUSTER} -b -- uptime`,
    "  npx edge run -n demo-1 -- 'for i in 1 2 3; do echo $i; sleep 1; done'",
    '  npx edge sshuser add demo-1 $(id -un) --public-key @~/.ssh/id_ed25519.pub',
    '  npx edge ssh demo-1',
    '  npx edge forward demo-2 8080:localhost:80',
    '  npx edge events tail',
    '  npx edge webhook listen --on all',
    '',
  ].join('\n');
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
  return { exit: parsed.exit === true, port, data: parsed.data ?? '.data/demo' };
}

function parsedArgs(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
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
