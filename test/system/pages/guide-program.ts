/**
 * A program for a network of its own, in which a person, an admin and Prometheus are. Two machines have another network
 * each, and behind the first stands a router of its own network. Reads the guide pages from the admin, pastes all that
 * they say where they say it, and prints what came of it, as JSON. Takes the connection of a database.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { endScriptsOf } from '../../support/fleet/agent-program.ts';
import { Program } from '../../support/fleet/program.ts';
import { createScope } from '../../support/scope.ts';
import type { TestConnection } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';
import { cable, inNetworkOf, ipIn, ownNetwork } from '../../support/networks/cable.ts';
import { guideBlocks, isPromised, type GuideBlock } from './guide-blocks.ts';
import { Terminal, type Pasted } from './guide-terminal.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** What came of a block. `pasted` is null where the page says why it cannot be tried. */
export interface TriedBlock extends GuideBlock {
  readonly path: string;
  readonly pasted: Pasted | null;
}

/** The pages in the order in which a newcomer reads them. */
const PATHS = [
  '/',
  ...['clusters', 'nodes', 'commands', 'proxy', 'ssh', 'metrics', 'events', 'integrators'].map(
    (name) => `/guide/${name}`,
  ),
];

const ADMIN_URL = 'http://10.77.0.1:44000';

/** A person waits so long before trying again, in ms. */
const TIMEOUT_MS = 10_000;

/** Commands that only list. */
const LIST = /^edge \w+ (?:ls|deliveries)\s*$/u;
const PROGRAMS = ['edge', 'edge-admin', 'edge-agent'] as const;
const ROUTER = "http.createServer((_, answer) => answer.end('the router')).listen(80)";

const scope = createScope();
process.once('SIGTERM', () => void scope.end().then(() => process.exit(1)));
const directory = temporaryDirectory(scope);
const home = userInfo().homedir; // that of ssh, whatever HOME says
const env = {
  PATH: `${directory}/bin:${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
  HOME: home,
  TERM: 'dumb',
  VPN_ENABLED: 'false',
  ADMIN_GATEWAY_ENABLED: 'false',
}; // what interfaces do is proven in test/system/vpn
furnish();

const [machine, second, router] = [await ownNetwork(scope), await ownNetwork(scope), await ownNetwork(scope)];
cable('near1', process, machine, ['10.77.0.1/24', '10.77.0.2/24']);
cable('near2', process, second, ['10.77.1.1/24', '10.77.1.2/24']);
cable('lan0', machine, router, ['192.168.1.2/24', '192.168.1.1/24']);
ipIn(machine, 'route', 'add', 'default', 'via', '10.77.0.1');
ipIn(second, 'route', 'add', 'default', 'via', '10.77.1.1');
Program.run(scope, 'nsenter', [...inNetworkOf(router), process.execPath, '-e', ROUTER]);

/** Keys by the name that a page asks for them. Enrolment keys are those that were printed last. */
const secrets: Record<string, string> = {
  EDGE_API_KEY: FLEET_KEYS.API_KEY,
  EDGE_PROXY_KEY: FLEET_KEYS.PROXY_KEY,
  METRICS_KEY: FLEET_KEYS.METRICS_KEY,
  EDGE_MCP_KEY: FLEET_KEYS.MCP_KEY,
};
try {
  await startAdmin(JSON.parse(process.argv[2] ?? '') as TestConnection);
  const tried: TriedBlock[] = [];
  for (const path of PATHS) tried.push(...(await tryPage(path)));
  process.stdout.write(JSON.stringify(tried));
} finally {
  for (const name of ['machine', 'machine2']) endScriptsOf(join(directory, name));
  await scope.end();
}

/** All of a page, from its first block to its last, and then Ctrl-C wherever something goes on for the reader alone. */
async function tryPage(path: string): Promise<TriedBlock[]> {
  const blocks = guideBlocks(await (await fetch(ADMIN_URL + path)).text());
  const terminals = new Map<string, Terminal>();
  const before: GuideBlock[] = [];
  const lasting: { readonly block: GuideBlock; readonly terminal: Terminal }[] = [];
  let waiting: { readonly block: GuideBlock; readonly terminal: Terminal } | null = null;
  const pasted: (Pasted | null)[] = [];

  for (const block of blocks) {
    if (block.untested !== null) {
      pasted.push(null);
      continue;
    }
    const typed = block.asks === null ? null : (secrets[block.asks] ?? '');
    if (block.lasts === null) {
      const terminal = terminals.get(block.where) ?? open(block.where);
      terminals.set(block.where, terminal);
      let end = await terminal.run(block.commands, typed);
      // A person who reads a list too early, such as that of deliveries under way, reads it again.
      if (LIST.test(block.commands))
        await until(
          'the list as promised',
          async () =>
            isPromised(block.prints ?? '', end.printed, block.lasts === null) ||
            ((end = await terminal.run(block.commands, typed)), null),
        ).catch(() => {});
      if (block.asks !== null && block.where === 'here') before.push(block);
      const key = /^eyJ\S+$/mu.exec(end.printed)?.[0];
      if (key !== undefined) secrets['ENROLLMENT_KEY'] = key;
      pasted.push(end);
      // A person who sees nothing there tries again what should have shown something.
      if (waiting !== null) await promised(waiting.block, waiting.terminal, () => terminal.run(block.commands, typed));
      waiting = null;
    } else {
      const terminal = open(block.where);
      if (block.where === 'another')
        for (const { commands, asks } of before) await terminal.run(commands, secrets[asks ?? ''] ?? '');
      terminal.start(block.commands, typed);
      lasting.push({ block, terminal });
      if (block.lasts === 'now') await promised(block, terminal, () => {});
      else waiting = { block, terminal };
      pasted.push({ status: null, printed: '' });
    }
  }

  for (const { block, terminal } of lasting) {
    pasted[blocks.indexOf(block)] = { status: null, printed: terminal.printed };
    if (!block.where.startsWith('machine')) await terminal.interrupt();
  }
  return blocks.map((block, index) => ({ ...block, path, pasted: pasted[index] ?? null }));
}

/** Waits for what a block that goes on promises. What does not come is for the test to see. */
async function promised({ prints }: GuideBlock, terminal: Terminal, again: () => unknown): Promise<void> {
  const came = (): boolean => isPromised(prints ?? '', terminal.printed, false);
  await until('what goes on to show something', came, TIMEOUT_MS).catch(async () => {
    await again();
    await until('what goes on to show something', came).catch(() => {});
  });
}

function open(where: string): Terminal {
  const place = where === 'machine' ? machine : where === 'machine2' ? second : null;
  return new Terminal(
    scope,
    place === null ? [] : ['nsenter', ...inNetworkOf(place)],
    place === null ? env : { ...env, AGENT_DATA_DIR: join(directory, where), AGENT_SSH_UNKNOWN_USERS: 'agent' },
    home,
  ); // no account is made on the machine that runs this
}

/**
 * Programs on the path as an installation has them, an empty home, and a name of a receiver. All of it is seen by what
 * is started here alone.
 */
function furnish(): void {
  mkdirSync(join(directory, 'bin'));
  for (const name of PROGRAMS)
    writeFileSync(
      join(directory, 'bin', name),
      `#!/bin/sh\nexec node '${import.meta.dirname}/../../../cli/${name}.ts' "$@"\n`,
      { mode: 0o755 },
    );
  mkdirSync(join(directory, 'home'));
  writeFileSync(join(directory, 'hosts'), '127.0.0.1 localhost\n10.77.0.1 receiver.example\n');
  execFileSync('mount', ['--bind', join(directory, 'home'), home]);
  execFileSync('mount', ['--bind', join(directory, 'hosts'), '/etc/hosts']);
}

async function startAdmin({ user, host, port, database }: TestConnection): Promise<void> {
  const admin = Program.run(scope, 'edge-admin', ['serve'], {
    ...env,
    ...FLEET_KEYS,
    DATABASE_URL: `postgresql://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`,
    DATABASE_POOL_MAX: '10',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    ADMIN_URLS: ADMIN_URL,
    WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
  });
  await admin.logged('edge-admin is ready');
}
