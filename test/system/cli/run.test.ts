/** `edge run`: where, with what, and how its outputs are told. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { openFailingGateway } from '../../support/net/failing-gateway.ts';
import { openEdge } from '../../support/edge-terminal.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { startEdge } from '../../support/edge-program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const fleet = sharedFleet(test, { agents: 0 });
const envOf = () => ({ EDGE_URL: fleet().admins[0]?.url ?? '', EDGE_API_KEY: FLEET_KEYS.API_KEY });
const edge = (args: readonly string[], stdin = '') => startEdge(args, envOf(), stdin).ended;

/** What a run printed, its lines in order. */
async function printed(args: readonly string[], stdin = ''): Promise<readonly string[]> {
  const { status, stdout, stderr } = await edge(['run', ...args], stdin);
  if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return stdout.trim().split('\n').toSorted();
}

test.serial.before('three machines join', async () => {
  const agents = await Promise.all(
    ['web-1', 'web-2', 'db-1'].map((alias) =>
      fleet().addAgent({ AGENT_ALIASES: alias, AGENT_LABELS: alias.startsWith('web') ? 'tier=web' : 'tier=db' }),
    ),
  );
  await Promise.all(agents.map((agent) => agent.live()));
  await Promise.all(agents.map((agent) => fleet().reaches(agent, 'healthy')));
});

test.serial('nodes are meant by parts of their names, by clusters, by labels, and by their status', async (t) => {
  const web = ['web-1: here', 'web-2: here'];
  const all = ['db-1: here', ...web];

  t.deepEqual(await printed(['-n', 'web-*', '--', 'echo here']), web);
  t.deepEqual(await printed(['-n', 'web-1,*-2', '--', 'echo here']), web);
  t.deepEqual(await printed(['-c', 'fl*', '--', 'echo here']), all);
  t.deepEqual(await printed(['-l', 'tier=web', '--', 'echo here']), web);
  t.deepEqual(await printed(['-c', 'fleet', '-l', 'tier!=web', '--', 'echo here']), ['db-1: here']);
  t.deepEqual(await printed(['--all', '-s', 'healthy', '--', 'echo here']), all);
});

test.serial('a script of any interpreter gets variables and stdin, each as it was given', async (t) => {
  const directory = temporaryDirectory(t);
  const [shell, other] = [join(directory, 'shell'), join(directory, 'other')];
  writeFileSync(shell, '#!/bin/sh\nset -e\necho "$GREETING"\ncat\nexit 0\n');
  writeFileSync(
    other,
    `#!${process.execPath}\nprocess.stdin.pipe(process.stdout);\nconsole.log(process.env.GREETING);\n`,
  );
  const greeting = `it's "$HOME" \\ and a tab\t`;
  const input = 'a\u0000b\nno newline at the end';

  for (const script of [shell, other]) {
    const run = await edge(
      ['-o', 'json', 'run', '-n', 'db-1', '--script', script, '--env', `GREETING=${greeting}`, '--stdin'],
      input,
    );
    t.is(run.status, 0, run.stderr + run.stdout);
    const { executions } = JSON.parse(run.stdout) as { executions: { output: string }[] };
    t.is(executions[0]?.output, `${greeting}\n${input.replace('\u0000', '\uFFFD')}`);
  }
  t.deepEqual(await printed(['-n', 'db-1', '--env', 'A=1', '--env', 'B=2', '--', 'echo $A$B; exit 0']), ['db-1: 12']);
  t.is((await edge(['run', '-n', 'db-1', '--stdin', '--', 'cat > /dev/null; exit 5'], 'x')).status, 6);
});

test.serial(
  'one that is not waited for goes on by itself, and is looked at later by the beginning of its id',
  async (t) => {
    const { status, stdout, stderr } = await edge(['run', '--all', '--detach', '--', 'echo later']);
    const id = stdout.trim();

    t.is(status, 0);
    t.regex(id, /^[\da-f-]{36}$/u);
    t.is(stderr, `edge: runs on 3 nodes: edge command get ${id} says how far it is\n`);
    await until('its end', async () => /3\/3 done/u.test((await edge(['command', 'get', id.slice(0, 18)])).stdout));
    t.is((await edge(['command', 'output', id, '-b'])).stdout.split('\n')[1], 'db-1,web-1,web-2 (3)');
    t.is((await edge(['command', 'ls', '-q', '--limit', '1'])).stdout, `${id}\n`);
    const table = (await edge(['command', 'ls', '--limit', '1'])).stdout.split('\n');
    t.regex(table[1] ?? '', new RegExp(`^${id.slice(0, 8)}  \\d+s +3 +3 +0 +0 +echo later$`, 'u'));
    t.false((await edge(['command', 'ls', '-q', '--open'])).stdout.includes(id));
    t.false((await edge(['command', 'ls', '-q', '--failed'])).stdout.includes(id));
  },
);

test.serial('an earlier command runs again where it failed, or everywhere', async (t) => {
  const directory = temporaryDirectory(t);
  const mended = join(directory, 'mended');
  const script = `test -e ${mended} -o "$EDGE_NODE_ID" != ${fleet().agents[0]?.node ?? ''} && echo well`;
  const first = await edge(['run', '--all', '--timeout', '30s', '--', script]);
  const id = /command (?<id>\S+) runs/u.exec(first.stderr)?.groups?.['id'] ?? '';
  writeFileSync(mended, '');

  t.is(first.status, 6);
  t.is((await edge(['command', 'ls', '-q', '--failed', '--limit', '1'])).stdout.slice(0, 23), id.slice(0, 23));
  const again = await edge(['run', '--again', id.slice(0, 23), '--failed']);
  t.deepEqual([again.status, again.stdout], [0, 'web-1: well\n']);
  t.deepEqual(await printed(['--again', id]), ['db-1: well', 'web-1: well', 'web-2: well']);
  t.deepEqual(await printed(['--again', id, '--', 'echo other']), ['db-1: other', 'web-1: other', 'web-2: other']);
  const done = /command (?<id>\S+) runs/u.exec(again.stderr)?.groups?.['id'] ?? '';
  const none = await edge(['run', '--again', done, '--failed']);
  t.deepEqual(
    [none.status, none.stderr],
    [4, `edge: the command ${done} failed nowhere: edge command get ${done} says how it went\n`],
  );
});

test.serial('an earlier command does not run again where it has not ended', async (t) => {
  const busy = fleet().agents[2]?.node ?? '';
  const script = `test "$EDGE_NODE_ID" = ${busy} && sleep 60; echo ended`;
  const id = (await edge(['run', '--all', '--detach', '--', script])).stdout.trim();
  await until('the end of two', async () => /2\/3 done, 1 running/u.test((await edge(['command', 'get', id])).stdout));

  t.deepEqual(await printed(['--again', id, '--', 'echo again']), ['web-1: again', 'web-2: again']);
  t.is((await edge(['command', 'cancel', id])).status, 0);
});

test.serial('outputs are told by what differs from the most frequent one', async (t) => {
  const script = `seq 1 20; test "$EDGE_NODE_ID" = ${fleet().agents[2]?.node ?? ''} && echo more || true`;
  const { status, stdout, stderr } = await edge(['run', '--all', '--diff', '--', script]);
  const id = /command (?<id>\S+) runs/u.exec(stderr)?.groups?.['id'] ?? '';
  const rule = '-'.repeat(15);
  const common = Array.from({ length: 20 }, (_none, index) => `${index + 1}\n`).join('');
  const expected = `${rule}\nweb-1,web-2 (2)\n${rule}\n${common}${rule}\ndb-1\n${rule}\n...\n 18\n 19\n 20\n+more\n`;

  t.deepEqual([status, stdout], [0, expected]);
  t.is((await edge(['command', 'output', id, '--diff'])).stdout, expected);
});

test.serial(
  'on a terminal machines say text and colours, which end with their line, unless all is let through',
  async (t) => {
    const script = String.raw`printf '\033]0;title\007\033[2J\033[31mred\nnext\033[1A\n'`;
    const plain = openEdge(t, ['run', '-n', 'db-1', '--', script], envOf());
    t.is(await plain.ended, 0);
    const raw = openEdge(t, ['run', '-n', 'db-1', '--raw', '--', script], envOf());
    await raw.ended;

    t.regex(plain.shown(), /db-1: \uFFFD\]0;title\uFFFD\uFFFD\[2J␛\[31mred␛\[0m\r\n/u);
    t.regex(plain.shown(), /db-1: next\uFFFD\[1A\r\n/u);
    t.regex(raw.shown(), /db-1: ␛\]0;title␇␛\[2J␛\[31mred\r\n/u);
  },
);

/** Whether the newest command was called off where it ran. */
async function isLastCancelled(): Promise<boolean> {
  const [last] = JSON.parse((await edge(['command', 'ls', '-o', 'json', '--limit', '1'])).stdout) as readonly {
    summary: { cancelled: number };
  }[];
  return last?.summary.cancelled === 1;
}

test.serial('a log that nobody follows any more ends on its machine, however they went', async (t) => {
  const file = join(temporaryDirectory(t), 'log');
  writeFileSync(file, 'one\n');

  for (const leave of ['SIGHUP', 'as head does'] as const) {
    const followed = startEdge(['logs', 'db-1', '--file', file, '-f'], envOf());
    await followed.says();
    if (leave === 'SIGHUP') followed.process.kill(leave);
    else {
      followed.process.stdout?.destroy();
      appendFileSync(file, 'two\n');
    }

    t.is((await followed.ended).status, 0, leave);
    await until(`its end there after ${leave}`, () => isLastCancelled());
  }
});

test.serial('the log of a machine is shown, and followed until Ctrl-C ends it there too', async (t) => {
  const file = join(temporaryDirectory(t), "it's a log");
  writeFileSync(file, 'one\ntwo\nthree\n');

  t.deepEqual(await edge(['logs', 'db-1', '--file', file, '--lines', '2']), {
    status: 0,
    stdout: 'two\nthree\n',
    stderr: '',
  });
  const followed = startEdge(['logs', 'db-1', '--file', file, '-f'], envOf());
  let shown = '';
  followed.process.stdout?.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  await until('the log', () => shown.includes('three'));
  appendFileSync(file, 'four\n');
  await until('what is new', () => shown.includes('four'));
  followed.process.kill('SIGINT');

  t.deepEqual(await followed.ended, { status: 0, stdout: 'one\ntwo\nthree\nfour\n', stderr: '' });
  await until('its end there', () => isLastCancelled());
  t.is((await edge(['logs', 'db-1', '--file', '/nonexistent'])).status, 1);
  t.is((await edge(['logs', 'db-1', '-u', 'x', '--file', 'y'])).stderr, 'edge: say either --unit or --file\n');
});

test.serial('how what shows a log ended is asked again where the service cannot be reached at first', async (t) => {
  const file = join(temporaryDirectory(t), 'log');
  writeFileSync(file, 'one\n');
  const gateway = await openFailingGateway(t, envOf().EDGE_URL, 'get_command_execution');

  const words = ['logs', 'db-1', '--file', file];
  const { status, stdout, stderr } = await startEdge(words, { ...envOf(), EDGE_URL: gateway.url }).ended;

  t.deepEqual([status, stdout, gateway.failed()], [0, 'one\n', 1]);
  t.is(stderr, 'edge: how it ended cannot be read now (HTTP 503 without JSON); trying again\n');
});
