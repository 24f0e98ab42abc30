/** The demo from end to end, as a user starts it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { startNode } from '../../support/edge-program.ts';
import { takenPort } from '../../support/listening.ts';
import { until } from '../../support/until.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const DEMO = fileURLToPath(new URL('../../../cli/demo.ts', import.meta.url));

test.serial(
  'it runs a command on three agents and ends, with nothing left behind, twice on the same data',
  async (t) => {
    const data = temporaryDirectory(t);

    for (const time of ['first', 'second']) {
      const { status, stdout, stderr } = await run(['--exit', '--data', data]);

      t.is(status, 0, `${time}: ${stderr}`);
      t.regex(stdout, /demo-1,demo-2,demo-3 \(3\)\n-+\nhello from Linux/u, time);
      t.false(existsSync(join(data, 'running.json')));
    }
  },
);

test.serial('Ctrl-C ends it with all of its processes', async (t) => {
  const data = temporaryDirectory(t);
  const demo = startNode([DEMO, '--data', data]);
  await until('the end of what it says', () => demo.stdout.includes('Ctrl-C ends everything'), 90_000);
  const { programs } = JSON.parse(readFileSync(join(data, 'running.json'), 'utf8')) as { programs: number[] };
  const url = /EDGE_URL=(?<url>\S+)/u.exec(demo.stdout)?.groups?.['url'] ?? '';
  const authorization = `Bearer ${readFileSync(join(data, 'key'), 'utf8').trim()}`;
  const answer = await fetch(`${url}/api/v1/nodes`, { headers: { authorization } });
  const local = { url: 'http://127.0.0.1:44999/', secret: 'x', subscribed_events: ['edge.core.test'] };
  const webhook = await fetch(`${url}/api/v1/webhooks`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(local),
  });

  const { status, stdout } = await demo.interrupt();

  t.deepEqual([answer.status, webhook.status], [200, 201]);
  t.is(status, 0, stdout);
  t.is(programs.length, 4);
  t.true(programs.every((pid) => !existsSync(`/proc/${pid}`)));
});

test.serial('a port that is taken is told, and so is an argument that is none', async (t) => {
  const port = await takenPort(t);
  const data = temporaryDirectory(t);

  for (const [args, said] of [
    [['--port', String(port)], /another program listens there/u],
    [['--port', 'x'], /whole number/u],
    [['--wrong'], /Unknown option/u],
  ] as const) {
    const { status, stderr } = await run([...args, '--data', data]);

    t.is(status, 2);
    t.regex(stderr, said);
    t.regex(stderr, /^demo: [^\n]+\n$/u);
  }
});

const run = (args: readonly string[]) => startNode([DEMO, ...args]).ended;
