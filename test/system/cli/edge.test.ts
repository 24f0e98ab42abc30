/** The command line against a real admin and real agents. */
import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { CLUSTER, FLEET_KEYS } from '../../support/fleet.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { startEdge, type Ended } from '../../support/edge-program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { edgeOf, refused, wordsOf, type Words } from './fixture.ts';

const fleet = sharedFleet(test, { agents: 3, env: { NODE_UNREACHABLE_AFTER_MS: '3s' } });

const edge = edgeOf(fleet);
const nodeIds = () =>
  fleet()
    .agents.slice(0, 3)
    .map(({ node }) => node ?? '')
    .toSorted();

/**
 * The first characters of an id: what nodes are called that have one name, as agents of one machine without aliases.
 */
const short = (id: string): string => id.slice(0, 8);
const shortIds = () => nodeIds().map(short);

/** What a run printed: it said besides only that it began, and how it ended. */
function wellRan(t: ExecutionContext, { status, stdout, stderr }: Ended, count: number): string {
  const nodes = count === 1 ? '1 node' : `${count} nodes`;
  const end = String.raw`${count} of ${count} succeeded, [\d.]+ s \([\da-f-]{13}\)`;
  t.is(status, 0, stderr);
  t.regex(stderr, new RegExp(String.raw`^edge: command [\da-f-]{36} runs on ${nodes}\nedge: ${end}\n$`, 'u'));
  return stdout;
}

test.serial('nodes are listed as a table, as JSON and as JSON lines', async (t) => {
  const table = await edge.data(t, ['node', 'ls', '-c', CLUSTER]);
  const json = await edge.json<{ id: string }[]>(t, 'node ls');
  const lines = (await edge.data(t, 'node ls -o ndjson'))
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: string }).id);

  t.regex(table, /^NAME +CLUSTER +STATUS +SINCE +VERSION +WHY\n/u);
  t.deepEqual(
    table
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split(/ {2,}/u).slice(0, 3)),
    shortIds().map((name) => [name, CLUSTER, 'healthy']),
  );
  t.deepEqual([json.map(({ id }) => id).toSorted(), lines.toSorted()], [nodeIds(), nodeIds()]);
  t.deepEqual((await edge.data(t, 'node list -q --sort id')).trim().split('\n'), nodeIds());
});

test.serial('identical outputs are grouped, different ones prefixed as they come', async (t) => {
  const grouped = wellRan(t, await edge.run(['run', '-c', CLUSTER, '-b', '--', 'echo same']), 3);
  const prefixed = wellRan(t, await edge.run(['run', '--all', '--', 'echo $EDGE_NODE_ID; echo end']), 3);

  t.is(grouped, `---------------\n${shortIds().join(',')} (3)\n---------------\nsame\n`);
  t.deepEqual(
    prefixed.trim().split('\n').toSorted(),
    nodeIds()
      .flatMap((id) => [`${short(id)}: ${id}`, `${short(id)}: end`])
      .toSorted(),
  );
});

test.serial('an output is shown while its command still runs', async (t) => {
  const running = edge.start(t, ['run', '--all', '--', 'echo begun; sleep 60']);

  t.regex(await running.says(), /: begun\n/u);
  const { status, stderr } = await running.interrupt();

  t.is(status, 7);
  t.is(stderr.split(': cancelled').length - 1, 3, stderr);
  t.regex(stderr, /edge: 0 of 3 succeeded, 3 cancelled, [\d.]+ s \([^)]+\)\n$/u);
});

test.serial('a second Ctrl-C leaves without waiting', async (t) => {
  const agent = fleet().agent();
  const running = edge.start(t, ['run', '-n', agent.node, '--', 'echo begun; sleep 60']);
  await running.says();

  agent.program.pause(); // it stops nothing, however late the second one comes
  t.teardown(() => agent.program.resume());
  void running.interrupt();
  await running.says('stderr', /asking all nodes to stop/u);
  const { status, stderr } = await running.interrupt();
  agent.program.resume();
  await fleet().reaches(agent, 'healthy');

  t.is(status, 130);
  t.regex(stderr, /the command goes on as/u);
});

test.serial('the exit status tells failures from what did not finish', async (t) => {
  const [first = ''] = nodeIds();
  const failed = await edge.run(['run', '--all', '--', `test "$EDGE_NODE_ID" != ${first} || exit 9`]);
  const timedOut = await edge.run(['run', '-n', first, '--timeout', '300ms', '--', 'sleep 30']);

  t.deepEqual([failed.status, timedOut.status], [6, 6]);
  t.regex(
    failed.stderr,
    new RegExp(`runs on 3 nodes\nedge: ${short(first)}: exited with 9\nedge: 2 of 3 succeeded, 1 failed, `, 'u'),
  );
  t.regex(timedOut.stderr, new RegExp(`\nedge: ${hostname()}: exited with 124 \\(timed out\\)\n`, 'u'));
});

test.serial('nodes that cannot be reached are told, with status 7', async (t) => {
  const agent = await fleet().addAgent({ AGENT_ALIASES: 'away' });
  await agent.live();
  await fleet().reaches(agent, 'healthy');
  await agent.kill();

  const expired = await edge.run('run -n away --wait --expires 1s -- true');
  const waiting = edge.start(t, 'run -n away --wait -- true');
  // its id, where the service could not tell names in time
  const called = `\\((?:away|${short(agent.node)})\\)`;
  await waiting.says(
    'stderr',
    new RegExp(`edge: waiting for 1 that is not connected ${called}\nedge: Ctrl-C cancels`, 'u'),
  );
  const ended = await waiting.interrupt();
  await fleet().reaches(agent, 'unreachable');
  const left = await edge.run(['run', '--all', '--', 'echo here']);
  const healthy = await edge.run('run --all -s healthy -- true');
  const removed = await edge.run('node rm away');

  t.deepEqual([expired.status, ended.status, removed.status], [7, 7, 0]);
  t.regex(expired.stderr, /\nedge: away: not reached in time\nedge: 0 of 1 succeeded, 1 not reached in time, /u);
  t.deepEqual([left.status, left.stdout.split('here').length - 1], [7, 3]);
  t.regex(
    left.stderr,
    /runs on 4 nodes\nedge: away is away and runs it when it is back\nedge: edge command output (\S{36}) shows it then\nedge: edge command cancel \1 calls it off\nedge: 3 of 4 succeeded, 1 away, /u,
  );
  wellRan(t, healthy, 3);
});

test.serial('a machine that is lost while it runs is told, and not waited for', async (t) => {
  const agent = await fleet().addAgent({ AGENT_ALIASES: 'lost' });
  await agent.live();
  await fleet().reaches(agent, 'healthy');
  const script = `echo begun; test "$EDGE_NODE_ID" != ${agent.node ?? ''} || sleep 60`;
  const running = edge.start(t, ['run', '--all', '--', script]);
  await running.says('stdout', /lost: begun/u);
  await agent.kill();

  const { status, stderr } = await running.ended;
  await edge.data(t, 'node rm lost');

  t.is(status, 7);
  t.regex(
    stderr,
    /\nedge: lost went away while it ran; when it is back:\nedge: edge command output \S{36} shows the rest\nedge: 3 of 4 succeeded, 1 lost while running, /u,
  );
});

test.serial('a script comes from stdin, and its outputs can be read again', async (t) => {
  const [first = ''] = nodeIds();
  const started = await edge.run(['-o', 'json', 'run', '-n', short(first), '-'], '#!/bin/sh\nprintf "a\\nb"\n');
  const { command, executions } = JSON.parse(wellRan(t, started, 1)) as {
    command: { id: string; summary: object };
    executions: { id: string; output: string }[];
  };

  t.like(command.summary, { total: 1, succeeded: 1 });
  t.is(executions[0]?.output, 'a\nb');
  t.is(await edge.data(t, ['command', 'output', command.id]), `${hostname()}: a\n${hostname()}: b\n`);
  t.is(
    await edge.data(t, ['command', 'output', command.id, '-b']),
    `---------------\n${hostname()}\n---------------\na\nb\n`,
  );
  for (const digits of [36, 35])
    t.is(await edge.data(t, ['command', 'output', executions[0]?.id.slice(0, digits) ?? '']), 'a\nb');
  t.regex(await edge.data(t, ['command', 'get', command.id]), /1\/1 done/u);
  t.is(await edge.data(t, ['command', 'rm', command.id]), '');
  t.is((await edge.run(['command', 'get', command.id])).status, 4);
});

test.serial('a run outlives an admin that is killed and started again', async (t) => {
  const admin = fleet().admin();
  const running = edge.start(t, ['run', '--all', '--', 'echo begun; sleep 3; echo ended']);
  await running.says();

  await admin.kill();
  await admin.start();
  const { status, stdout, stderr } = await running.ended;

  t.is(status, 0, stderr);
  t.is(stdout.split('ended').length - 1, 3, stdout);
});

test.serial('a long output comes through whole', async (t) => {
  const { stdout } = await edge.run(['run', '-n', nodeIds()[1] ?? '', '-b', '--', 'seq 1 100000']);

  t.is(stdout.split('\n').slice(3).join('\n'), Array.from({ length: 100_000 }, (_none, n) => `${n + 1}\n`).join(''));
});

test.serial('clusters, keys and aliases are made and taken away', async (t) => {
  const [first = ''] = nodeIds();

  t.regex(await edge.data(t, 'cluster create spare --limit 5'), /^name +spare$/mu);
  t.regex(await edge.data(t, 'cluster limit spare unlimited'), /^node_limit +-$/mu);
  for (const uses of [['2', '--expires', '1h'], ['unlimited']])
    t.regex(await edge.data(t, ['key', 'create', 'spare', '--uses', ...uses]), /^[\w-]{20,}\n$/u);
  t.regex(await edge.data(t, 'key ls'), /spare .*unlimited/u);
  await edge.data(t, ['alias', 'add', first, 'first']);
  t.regex(await edge.data(t, 'node get first'), new RegExp(first, 'u'));
  t.regex(await edge.data(t, ['node', 'get', `first.${CLUSTER}.edge.internal`]), new RegExp(first, 'u'));
  const [alias] = await edge.json<{ id: string }[]>(t, 'alias ls');
  await edge.data(t, ['alias', 'rm', alias?.id.slice(0, 23) ?? '']);
  const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPOZdJ4FLpUr4YHA1Kbg0x7kTMpKln2ujH2vLdx0igXo ada';
  await edge.data(t, ['sshuser', 'add', first, 'ada', '-k', key]);
  const [user] = await edge.json<{ id: string }[]>(t, 'sshuser ls');
  const beginning = user?.id.slice(0, 23) ?? '';
  t.regex(await edge.data(t, ['sshuser', 'get', beginning]), /^username +ada$/mu);
  t.is((await edge.data(t, ['sshkey', 'ls', beginning, '-q'])).split('\n').length, 2);
  await edge.data(t, ['sshuser', 'rm', beginning]);
  t.is((await edge.run('node get first')).status, 4);
  await edge.data(t, 'cluster rm spare');
});

test.serial('events are followed as they happen', async (t) => {
  const running = edge.start(t, 'events tail -o ndjson --type edge.command_execution.completed');
  const run = () => edge.run(['run', '-n', nodeIds()[0] ?? '', '--', 'true']);
  const ran = run();
  // The tail may start after the command is over: then the next one is seen.
  const again = setInterval(() => void run(), 1_000);
  t.teardown(() => clearInterval(again));
  const said = await running.says();
  clearInterval(again);
  const { status } = await running.interrupt();
  await ran;

  t.is(status, 0);
  t.like(JSON.parse(said.split('\n')[0] ?? ''), {
    type: 'edge.command_execution.completed',
    data: { node_id: nodeIds()[0], exit_code: 0 },
  });
});

test.serial('what cannot be done is one line on stderr, nothing on stdout, and a status of its own', async (t) => {
  const cases: readonly (readonly [number, Words, Readonly<Record<string, string>>?])[] = [
    [2, 'run -- true'],
    [2, `run --all -c ${CLUSTER} -- true`],
    [2, 'run --all'],
    [2, '-o xml node ls'],
    [2, 'nod'],
    [2, 'node ls --limit x'],
    [2, '--url nonsense node ls'],
    [4, 'command get abc'],
    [2, 'cluster create Wrong_Name'],
    [3, 'node ls', { EDGE_API_KEY: 'wrong' }],
    [3, 'node ls', { EDGE_API_KEY: '' }],
    [3, 'node ls', { EDGE_API_KEY: FLEET_KEYS.METRICS_KEY }],
    [2, 'webhook create http://127.0.0.1/'],
    [2, 'webhook create http://127.0.0.1/ --all'],
    [2, 'webhook listen --on all'],
    [2, ['webhook', 'create', 'https://example.com/', '--all', '--header', 'no colon']],
    [2, 'events tail -t nosuch'],
    [2, 'events explain all'],
    [4, 'webhook deliveries 00000000-0000-4000-8000-000000000000'],
    [2, 'webhook create https://example.com/ --on nosuch'],
    [4, 'node get nosuch'],
    [4, 'run -c nosuch -- true'],
    [1, `cluster rm ${CLUSTER}`],
    [1, '--url http://127.0.0.1:9 node ls'],
  ];
  await Promise.all(
    cases.map(async ([status, args, env]) => {
      const ended = await startEdge(wordsOf(args), { ...edge.env(), ...env }).ended;
      refused(t, ended, status, /^(?!.*(?:\bat \S+\.ts|TRPCClientError))/u, String(args));
    }),
  );
});

test.serial('a login is remembered for its owner only, and only a key that works', async (t) => {
  const home = temporaryDirectory(t);
  const env = { XDG_CONFIG_HOME: home };
  const url = fleet().admin().url;

  const wrong = await startEdge(['login', '--url', url], env, 'wrong\n').ended;
  t.deepEqual([wrong.status, existsSync(join(home, 'edge/config.json'))], [3, false]);
  const right = await startEdge(['login', '--url', url], env, `${FLEET_KEYS.API_KEY}\n`).ended;
  t.is(right.status, 0, right.stderr);
  t.false(`${right.stdout}${right.stderr}`.includes(FLEET_KEYS.API_KEY));
  t.deepEqual(JSON.parse(readFileSync(join(home, 'edge/config.json'), 'utf8')), { url, key: FLEET_KEYS.API_KEY });
  t.is((await startEdge(['node', 'ls'], env).ended).status, 0);
});
