/**
 * docs/high-availability.md: its settings and commands, as they stand there, make two admins of which one is drained.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { hangAfter } from '../../support/busy.ts';
import { createDatabase } from '../../support/database/database.ts';
import { Program } from '../../support/fleet/program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { programFile } from '../../support/run/programs.ts';
import { urlOf } from '../../support/database/server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const PAGE = new URL('../../../docs/high-availability.md', import.meta.url);

const TEST_MS_MAX = 120_000;

/** The blocks of a kind, in their order. */
async function blocksOf(kind: 'sh' | 'sh admin'): Promise<readonly string[]> {
  const page = await readFile(PAGE, 'utf8');
  return [...page.matchAll(new RegExp(`^\`\`\`${kind}\\n(?<text>.*?)^\`\`\`$`, 'gmsu'))].map(
    ({ groups }) => groups?.['text'] ?? '',
  );
}

/** A directory with the programs as commands, and the two keys. */
async function place(t: ExecutionContext, masterKey: string): Promise<string> {
  const directory = temporaryDirectory(t, 0o755);
  await mkdir(join(directory, 'bin'));
  for (const name of ['edge', 'edge-admin'] as const)
    await writeFile(
      join(directory, 'bin', name),
      `#!/bin/sh\nexec "${process.execPath}" "${programFile(name)}" "$@"\n`,
      { mode: 0o755 },
    );
  await writeFile(join(directory, 'encryption.key'), `${randomBytes(32).toString('base64')}\n`);
  await writeFile(join(directory, 'master.key'), `${masterKey}\n`);
  return directory;
}

test('two admins start with the settings of the page, whose commands drain, stop, restart and resume one of them', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const masterKey = randomBytes(32).toString('hex');
  const directory = await place(t, masterKey);
  const [settings = ''] = await blocksOf('sh admin');
  const database = urlOf(await createDatabase(t));
  const ports = [await freePort(), await freePort()];
  const run = (commands: string, env: Readonly<Record<string, string>>) =>
    Program.run(t, '/bin/sh', ['-euc', `cd ${directory}\n${commands}`], {
      PATH: `${join(directory, 'bin')}:${process.env['PATH']}`,
      HOME: directory,
      ...env,
    });
  const start = async (number: number) => {
    const program = run(
      settings
        .replace(/(?<=ADMIN_NAME=admin-)1/u, String(number))
        .replace(/(?<=ADMIN_OWN_URL=https:\/\/admin-)1/u, String(number))
        .replace('10.0.0.1:44000', `127.0.0.1:${ports[number - 1]}`)
        .replace(/(?<=DATABASE_URL=)\S+/u, `'${database}'`)
        .replace('edge-admin serve', 'exec edge-admin serve'),
      {
        ADMIN_API_PORT: String(ports[number - 1]),
        ADMIN_PROXY_ENABLED: 'false',
        ADMIN_OBSERVER_PORT: '0',
        ADMIN_GATEWAY_ENABLED: 'false',
      },
    );
    await program.logged('edge-admin is ready');
    return program;
  };
  const [first] = [await start(1), await start(2)];
  const url = `http://127.0.0.1:${ports[1]}`;
  const edge = { EDGE_URL: url, EDGE_API_KEY: masterKey };
  const rest = restClient(() => url, masterKey);
  await restClient(() => `http://127.0.0.1:${ports[0]}`, masterKey).post('/clusters', { name: 'field' });
  const owners = () => rest.get<Readonly<Record<string, object>>>('/admins/edge_clusters');
  const before = Object.keys(await owners());

  const [drain = ''] = (await blocksOf('sh')).filter((block) => block.includes('edge admin drain'));
  const drained = await run(drain, edge).ended();
  const after = Object.keys(await owners());
  first.terminate();
  const stopped = await first.ended();
  await start(1);
  const [resume = ''] = /edge admin resume [\w-]+/u.exec(await readFile(PAGE, 'utf8')) ?? [];
  const resumed = await run(resume, edge).ended();

  t.deepEqual(before, ['admin-1']);
  t.is(drained.code, 0);
  t.deepEqual(after, ['admin-2']);
  t.is(stopped.code, 0);
  t.is(resumed.code, 0);
  await until('both to take clusters, each reached by the other', async () => {
    const admins = await rest.get<readonly { name: string; status: string }[]>('/admins?sort=name');
    const { status } = await fetch(`${url}/health/cluster`);
    return admins.map((one) => `${one.name} ${one.status}`).join() === 'admin-1 live,admin-2 live' && status === 200;
  });
});
