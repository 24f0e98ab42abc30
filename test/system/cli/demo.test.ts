/** The demo from end to end, as a user starts it. What it prints to go on with is typed in walks/demo.test.ts. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import type { DemoPorts } from '../../../cli/demo/ports.ts';
import { RunningProgram, startNode } from '../../support/edge-program.ts';
import { hangAfter } from '../../support/busy.ts';
import { lives, procFile, processIds } from '../../support/processes.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { takenPort } from '../../support/net/listening.ts';
import { until } from '../../support/until.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const DEMO = fileURLToPath(new URL('../../../cli/demo.ts', import.meta.url));

/** What every terminal has before anything is pasted: neither the Node nor the programs of this clone. */
const PLAIN_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

test.serial(
  'it runs a command and ends; again it has the same data and ports, takes webhooks, and ends wholly by Ctrl-C',
  async (t) => {
    const [data, account] = [temporaryDirectory(t), temporaryDirectory(t)];
    const before = await ownPorts(data);
    const listened = (): unknown => JSON.parse(readFileSync(join(data, 'ports.json'), 'utf8'));
    const hello = /demo-1,demo-2,demo-3 \(3\)\n-+\nhello from Linux/u;

    const { status, stdout, stderr } = await run(['--exit', '--data', data, '--port', String(before.api)]);

    t.is(status, 0, stderr);
    t.regex(stdout, hello);
    t.false(stdout.includes('as the last time'));
    t.false(existsSync(join(data, 'running.json')));
    t.deepEqual(listened(), before);

    const demo = startNode([DEMO, '--data', data], { HOME: account });
    t.teardown(() => demo.process.kill('SIGTERM'));
    await until('the end of what it says', () => demo.stdout.includes('Ctrl-C ends everything'), 90_000);
    t.regex(demo.stdout, hello);
    t.true(demo.stdout.includes(`It listens on port ${before.api}, as the last time.`));
    t.deepEqual(listened(), before);
    await takesWebhooks(t, demo, data);
    const { programs } = JSON.parse(readFileSync(join(data, 'running.json'), 'utf8')) as { programs: number[] };
    const ended = await demo.interrupt();

    t.is(ended.status, 0, ended.stdout + ended.stderr);
    t.is(programs.length, 4);
    t.false(programs.some(lives));
    t.false(existsSync(join(data, 'running.json')));
    t.deepEqual(processesOf(data), []);
  },
);

/** Has a demo with this directory listen on ports that no other test takes between two of its runs. */
async function ownPorts(data: string): Promise<DemoPorts> {
  const ports = { api: await freePort(), http: await freePort(), socks5: await freePort() };
  writeFileSync(join(data, 'ports.json'), JSON.stringify(ports));
  return ports;
}

/** Whoever tries webhooks has the receiver on this machine. */
async function takesWebhooks(t: ExecutionContext, demo: RunningProgram, data: string): Promise<void> {
  const url = /EDGE_URL=(?<url>\S+)/u.exec(demo.stdout)?.groups?.['url'] ?? '';
  const { status } = await fetch(`${url}/api/v1/webhooks`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${readFileSync(join(data, 'key'), 'utf8').trim()}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ url: 'http://127.0.0.1:44999/', secret: 'x', subscribed_events: ['edge.core.test'] }),
  });
  t.is(status, 201);
}

/** The lines for a shell that end by themselves. */
function pastedLines(said: string): readonly string[] {
  const [finite = ''] = said.split('These go on until Ctrl-C.');
  return finite.split('\n').flatMap((line) => (line.startsWith('  ') ? [line.trim()] : []));
}

test.serial(
  'the demo kills one of several admins amid a command: nothing is lost, runs twice or stays behind',
  async (t) => {
    t.timeout(hangAfter(240_000));
    const data = temporaryDirectory(t);
    await ownPorts(data);

    const { status, stdout, stderr } = await run(['--admins', '3', '--exit', '--data', data]);

    t.is(status, 0, stdout + stderr);
    t.regex(stdout, /berlin-1,lagos-1,lima-1,oslo-1,pune-1,quito-1 \(6\)\n-+\nhello from Linux/u);
    t.regex(
      stdout,
      /admin-1 +\d+ +\S+ +berlin, oslo\nadmin-2 +\d+ +\S+ +lagos, pune\nadmin-3 +\d+ +\S+ +lima, quito\n/u,
    );
    t.regex(stdout, /admin-1 \(process \d+\) is gone: SIGKILL. It owned berlin and oslo\./u);
    t.regex(stdout, /^berlin: admin-1 → admin-[23]$/mu);
    t.regex(stdout, /12 of 12 executions succeeded: 0 lost, 0 ran twice\./u);
    t.deepEqual(processesOf(data), []);
  },
);

test.serial(
  'with several admins it goes on without one that is killed, says who took over, and ends with the last',
  async (t) => {
    t.timeout(hangAfter(240_000));
    const data = temporaryDirectory(t);
    await ownPorts(data);
    const demo = startNode([DEMO, '--admins', '2', '--data', data], { HOME: temporaryDirectory(t) });
    t.teardown(() => demo.process.kill('SIGTERM'));
    await until('the end of what it says', () => demo.stdout.includes('Ctrl-C ends everything'), 120_000);
    const finite = pastedLines(demo.stdout);
    const exports = finite.filter((line) => line.startsWith('export ')).join('\n');
    const env = { PATH: PLAIN_PATH, HOME: temporaryDirectory(t) };
    const paste = (line: string) =>
      new RunningProgram('bash', ['--norc', '-c', `cd ${env.HOME}\n${exports}\n${line}`], env).ended;
    const kill = finite.find((line) => line.includes('kill -9')) ?? '';

    const shown = await paste(kill);
    await until('the takeover', () => demo.stdout.includes('All that admin-2 owned has an owner again'), 60_000);
    const after = await paste('edge run --all -b -- echo still here');

    t.is(shown.status, 0, shown.stderr);
    for (const city of ['berlin', 'lagos', 'lima', 'oslo', 'pune', 'quito'])
      t.deepEqual(
        shown.stdout.split('\n').filter((line) => line.startsWith(`${city}-1: `)),
        [1, 2, 3, 4, 5, 6, 7, 8].map((number) => `${city}-1: ${number}`),
      );
    t.regex(demo.stdout, /admin-2 \(process \d+\) is gone: SIGKILL. It owned lagos and oslo and quito\./u);
    t.regex(after.stdout, /\(6\)\n-+\nstill here/u, after.stderr);
    const [, last = ''] = /^admin-1 +(\d+)/mu.exec(demo.stdout) ?? [];
    process.kill(Number(last), 'SIGKILL');
    const { status, stderr } = await demo.ended;
    t.is(status, 1);
    t.regex(stderr, /the last admin is gone/u);
    t.deepEqual(processesOf(data), []);
  },
);

/** Processes that work below this directory: admins and agents by their settings, PostgreSQL by where it is. */
function processesOf(data: string): readonly string[] {
  return processIds().flatMap((pid) => {
    const text = `${procFile(pid, 'environ')} ${procFile(pid, 'cmdline')}`;
    return text.includes(data) && pid !== process.pid ? [procFile(pid, 'cmdline').replaceAll('\0', ' ')] : [];
  });
}

test.serial('a port that is taken is told, and so is an argument that is none', async (t) => {
  const port = await takenPort(t);
  const data = temporaryDirectory(t);

  for (const [args, said] of [
    [['--port', String(port)], /another program listens there/u],
    [['--port', 'x'], /whole number/u],
    [['--wrong'], /Unknown option/u],
    [['--admins', '0'], /^demo: --admins is "0": it should be a whole number from 1 to 6\n$/u],
    [['--admins', 'two'], /from 1 to 6/u],
    [['--admins', '99'], /from 1 to 6/u],
  ] as const) {
    const { status, stderr } = await run([...args, '--data', data]);

    t.is(status, 2);
    t.regex(stderr, said);
    t.regex(stderr, /^demo: [^\n]+\n$/u);
  }
});

/**
 * Longest for a demo that ends by itself, in ms: below the time of its test, which tells nothing of where it stands.
 */
const RUN_MS_MAX = 180_000;

const run = (args: readonly string[]) => startNode([DEMO, ...args]).endedWithin(RUN_MS_MAX);
