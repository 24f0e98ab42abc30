/** What is asked of a fleet at a glance: status, load, the way to a node, waiting; and where `edge` is told to look. */
import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { until } from '../../support/until.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { programFile } from '../../support/run/programs.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { startEdge } from '../../support/edge-program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { createReachFixture, type ReachFixture } from './reach/fixture.ts';
import { createScope } from '../../support/scope.ts';

const scope = createScope();
const fleet = sharedFleet(test, {
  agents: 1,
  agentEnv: { AGENT_ALIASES: 'web-1' },
  // a node on a crowded machine may take longer than the usual 5 s to tell of its load
  env: { NODE_UNREACHABLE_AFTER_MS: '3s', METRICS_SCRAPE_TIMEOUT_MS: '60s' },
});
let reach: ReachFixture;
test.serial.before('the proxy is known', async () => {
  reach = await createReachFixture(scope, fleet());
});
test.after.always('its files go', () => scope.end());

const envOf = () => ({ EDGE_URL: fleet().admins[0]?.url ?? '', EDGE_API_KEY: FLEET_KEYS.MASTER_KEY });
const edge = (...args: string[]) => startEdge(args, envOf()).ended;

test.serial('the fleet is told at a glance, and who is not healthy, which does not answer', async (t) => {
  await edge('run', '--all', '--', 'exit 3');
  // a check that a busy machine made late is red for a moment
  const well = await until('an admin that is healthy', async () => {
    const told = await edge('status');
    if (!told.stdout.includes(', healthy\n')) throw new Error(told.stdout + told.stderr);
    return told;
  });
  const agent = await fleet().addAgent({ AGENT_ALIASES: 'web-2' });
  await agent.live();
  await fleet().reaches(agent, 'healthy');
  await agent.kill();
  await fleet().reaches(agent, 'unreachable');
  const ill = await edge('status');
  const json = JSON.parse((await edge('status', '-o', 'json')).stdout) as { nodes: object };

  t.is(well.status, 0, well.stderr);
  t.regex(
    well.stdout,
    /^Admin {5}admin-1 \(\S+\) at http:\S+, healthy\nNodes {5}1: 1 healthy\nClusters {2}1: fleet 1\nCommands {2}1 in the last hour, 0 of them open, 1 with failures\n$/u,
  );
  t.regex(
    ill.stdout,
    /\nNodes {5}2: 1 healthy, 1 unreachable\n[^]*\n\nNAME +CLUSTER +STATUS +SINCE +VERSION +WHY\nweb-2 +fleet +unreachable /u,
  );
  t.like(json.nodes, { healthy: 1, unhealthy: 0, unreachable: 1, total: 2, outdated: 0 });
  const away = await reach.edge('ping', 'web-2', '--count', '1');
  t.is(away.status, 1, away.stderr);
  t.regex(away.stdout, /^web-2 \(\S+\), unreachable, [^\n]*\n1 {2}[^\n]*not connected[^\n]*\n0 of 1 answered\n$/u);
  t.is((await edge('node', 'rm', 'web-2')).status, 0);
});

test.serial('the load of machines is told in a snapshot', async (t) => {
  const { status, stdout, stderr } = await edge('top');

  t.is(status, 0, stderr);
  t.regex(
    stdout,
    /^NAME +CLUSTER +BUSY +LOAD +CORES +MEMORY +DISK +UP +PROBLEM\nweb-1 +fleet +\d+% +[\d.]+ +\d+ +\d+% +\d+% +\d+[smhdy]\n$/u,
  );
});

test.serial('the way to a node is measured', async (t) => {
  const well = await reach.edge('ping', 'web-1', '--count', '2', '--interval', '10ms');
  const json = await reach.edge('ping', 'web-1', '--count', '1', '-o', 'json');

  t.is(well.status, 0, well.stderr);
  t.regex(
    well.stdout,
    /^web-1 \(node-\S+\), healthy, \S[^\n]*\n1 {2}\d+ ms\n2 {2}\d+ ms\n2 of 2 answered, \d+ ms at least, \d+ ms in the mean, \d+ ms at most\n$/u,
  );
  t.like(JSON.parse(json.stdout), { node_id: fleet().agents[0]?.node, tried: 1, answered: 1 });
  t.is((await reach.edge('ping', 'web-1', '--count', '1', '-o', 'id')).stdout, `${fleet().agents[0]?.node ?? ''}\n`);
  t.deepEqual(await edge('health', '-o', 'id'), { status: 0, stdout: '', stderr: '' });
});

test.serial('one waits for nodes that are not there yet, and for what becomes of them', async (t) => {
  const waiting = startEdge(['wait', 'web-3', '--timeout', '2m'], envOf());
  await waiting.says('stderr');
  const agent = await fleet().addAgent({ AGENT_ALIASES: 'web-3' });
  await agent.live();
  t.deepEqual(await waiting.ended, {
    status: 0,
    stdout: '',
    stderr: 'edge: there is no node "web-3" yet: it is waited for\n',
  });

  const late = await edge('wait', 'web-3', '--for', 'unreachable', '--timeout', '1s');
  t.is(late.status, 1);
  t.regex(late.stderr, /^edge: web-3 is healthy since \d+s\nedge: not unreachable after 1s: web-3\n$/u);
  const gone = startEdge(['wait', 'web-3', '--for', 'gone'], envOf());
  t.is((await edge('node', 'rm', 'web-3')).status, 0);
  t.is((await gone.ended).status, 0);
});

test.serial('services are remembered by name, chosen for a call or from now on, and forgotten', async (t) => {
  const home = temporaryDirectory(t);
  const env = { XDG_CONFIG_HOME: home };
  const url = envOf().EDGE_URL;
  const mine = (...args: string[]) => startEdge(args, env, `${FLEET_KEYS.API_KEY}\n`).ended;
  const file = join(home, 'edge', 'config.json');

  t.is((await mine('login', '--url', url)).status, 0);
  t.deepEqual(JSON.parse(readFileSync(file, 'utf8')), { url, key: FLEET_KEYS.API_KEY });
  t.is((await mine('login', '--context', 'test', '--url', url.replace('127.0.0.1', 'localhost'))).status, 0);
  t.is(statSync(file).mode & 0o777, 0o600);
  t.is(
    (await mine('context', 'ls')).stdout.replaceAll(url, 'URL').replaceAll(/ +/gu, ' '),
    `CURRENT NAME URL KEY PROXY\n* test ${url.replace('127.0.0.1', 'localhost')} yes -\n default URL yes -\n`,
  );
  t.is((await mine('node', 'ls')).status, 0);
  t.is((await mine('context', 'use', 'default')).status, 0);
  t.is((await mine('--context', 'test', 'node', 'ls')).status, 0);
  t.is(
    (await mine('context', 'use', 'nosuch')).stderr,
    'edge: there is no context "nosuch": edge context ls shows all\n',
  );
  t.is((await mine('logout', '--context', 'test')).stderr, 'edge: test is forgotten; default is used from now on\n');
  t.is((await mine('logout')).stderr, 'edge: default is forgotten\n');
  t.is((await mine('logout')).status, 4);
  t.throws(() => statSync(file), { code: 'ENOENT' });
});

test.serial('shells are told what may come next: words, options, and names of the fleet', async (t) => {
  const next = async (...words: string[]) => (await edge('__complete', ...words)).stdout.trim().split('\n');
  // on a busy machine they may come later than anybody waits for them at a prompt
  const names = (...words: string[]) =>
    until('names', async () => {
      const found = await next(...words);
      return found[0] === '' ? null : found;
    });

  t.true((await next('')).includes('node'));
  t.deepEqual((await next('node', '')).slice(0, 3), ['add', 'ls', 'get']);
  t.true((await next('node', 'ls', '--')).includes('--watch'));
  t.deepEqual(await names('node', 'get', ''), ['web-1']);
  t.deepEqual(await names('run', '-n', ''), ['web-1']);
  t.deepEqual(await names('run', '-n', 'other,'), ['other,web-1']);
  t.deepEqual(await names('run', '-c', ''), ['fleet']);
  t.deepEqual(await names('ssh', '-v', 'ada@'), ['ada@web-1']);
  t.deepEqual(await names('cp', ''), ['web-1:']);
  t.deepEqual(await next('--url', 'http://127.0.0.1:9', 'node', 'get', ''), ['']);
  t.deepEqual(await next('-o', ''), ['table', 'wide', 'id', 'json', 'ndjson']);
  t.deepEqual(await next('completion', ''), ['bash', 'zsh', 'fish']);
  const away = await startEdge(['__complete', 'node', 'get', ''], { EDGE_URL: 'http://127.0.0.1:9' }).ended;
  t.deepEqual(away, { status: 0, stdout: '', stderr: '' });
});

test.serial('a variable that is misspelt is told of with the one that was meant', async (t) => {
  const { status, stderr } = await startEdge(['--version'], {
    EDGE_KEY: 'x',
    EDGE_ULR: 'x',
    EDGE_PATH: '/opt',
    EDGE_MCP_KEY: 'x',
  }).ended;

  t.is(status, 0);
  t.is(
    stderr,
    'edge: EDGE_KEY is no setting and does nothing: did you mean EDGE_API_KEY?\nedge: EDGE_ULR is no setting and does nothing: did you mean EDGE_URL?\n',
  );
});

test.serial('an agent says in its log which of its variables are no settings', async (t) => {
  const { stderr } = await new Promise<{ readonly stderr: string }>((resolve) => {
    execFile(
      process.execPath,
      [programFile('edge-agent'), 'metrics-key'],
      { env: { AGENT_DATA_DIR: temporaryDirectory(t), AGENT_ALIAS: 'hidden', EVENT_BROKER: 'of an admin' } },
      (_error, stdout, said) => resolve({ stderr: stdout + said }),
    );
  });

  t.regex(stderr, /"AGENT_ALIAS is no setting and does nothing: did you mean AGENT_ALIASES\?"/u);
  t.notRegex(stderr, /hidden|EVENT_BROKER/u);
});
