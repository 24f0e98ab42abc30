/**
 * docs/backup.md: its commands, as they stand there, on the embedded PostgreSQL and on one of another kind, each with
 * an admin that serves before and after.
 */
import { randomBytes } from 'node:crypto';
import { execFile } from 'node:child_process';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { Client } from 'pg';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { prepareAdmin, type AdminProgram } from '../../support/fleet/admin-program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { peerPath } from '../../support/run/peers.ts';
import { Program } from '../../support/fleet/program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { hangAfter } from '../../support/busy.ts';

const test = await peerTest('postgres');

const PROGRAM = new URL('../../../cli/edge-admin.ts', import.meta.url).pathname;
const PAGE = new URL('../../../docs/backup.md', import.meta.url);

/** Blocks of commands of the page for one kind of server, in their order. */
async function blocksOf(kind: '' | 'package' | 'own'): Promise<readonly string[]> {
  const page = await readFile(PAGE, 'utf8');
  return [...page.matchAll(/^```sh ?(?<kind>\w*)\n(?<commands>.*?)^```$/gmsu)]
    .filter(({ groups }) => groups?.['kind'] === kind)
    .map(({ groups }) => groups?.['commands'] ?? '');
}

async function directory(t: ExecutionContext): Promise<string> {
  const dir = temporaryDirectory(t, 0o755);
  await mkdir(join(dir, 'bin'));
  await writeFile(join(dir, 'bin', 'edge-admin'), `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`, {
    mode: 0o755,
  });
  await mkdir(join(dir, 'backups'));
  return dir;
}

async function shell(dir: string, commands: string, env: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await promisify(execFile)('/bin/sh', ['-euc', commands], {
    env: {
      PATH: `${join(dir, 'bin')}:${env['TOOLS'] ?? ''}:${process.env['PATH']}`,
      BACKUPS: join(dir, 'backups'),
      ...env,
    },
  });
  return stdout;
}

/** The clusters that an admin answers with. */
async function clustersAt(admin: AdminProgram): Promise<readonly string[]> {
  return (
    await restClient(() => admin.url, FLEET_KEYS.MASTER_KEY).get<readonly { name: string }[]>('/clusters?sort=name')
  ).map(({ name }) => name);
}

async function stopped(admin: AdminProgram): Promise<void> {
  admin.program.terminate();
  const { code } = await admin.program.ended();
  if (code !== 0) throw new Error(`the admin ended with ${code}: ${admin.program.output.slice(-1_000)}`);
}

test('the commands of the page back up an embedded PostgreSQL in use, and restore it for an admin in a new directory', async (t) => {
  t.timeout(hangAfter(120_000));
  const dir = await directory(t);
  const places = { DATA_DIR: join(dir, 'data'), NEW_DATA_DIR: join(dir, 'new') };
  const [backUp = '', restore = '', ...others] = await blocksOf('');
  t.deepEqual(others, []);
  const admin = await prepareAdmin(t, 'first', { ...FLEET_KEYS, DATA_DIR: places.DATA_DIR });
  await admin.start();
  await restClient(() => admin.url, FLEET_KEYS.MASTER_KEY).post('/clusters', { name: 'kept' });

  t.regex(
    await shell(dir, backUp, places),
    /^Backed up \d+ rows of \d+ tables to .*edge\.backup\. Keep the key with it/u,
  );
  t.deepEqual(await clustersAt(admin), ['kept']);
  await stopped(admin);
  const again = await t.throwsAsync<Error & { stderr: string }>(shell(dir, backUp, places));
  t.regex(again?.stderr ?? '', /edge\.backup is there already/u);
  const keyless = await t.throwsAsync<Error & { stderr: string }>(shell(dir, restore.replace(/^cp .*$/mu, ''), places));
  t.regex(
    keyless?.stderr ?? '',
    /^edge-admin: The key of the backup is missing: put its encryption\.key into DATA_DIR/u,
  );
  t.regex(await shell(dir, restore, places), /^Restored \d+ rows/u);

  const second = await prepareAdmin(t, 'second', { ...FLEET_KEYS, DATA_DIR: places.NEW_DATA_DIR });
  await second.start();
  t.deepEqual(await clustersAt(second), ['kept']);
  await stopped(second);
});

const rootTest = await peerTest('postgres', 'root');

rootTest(
  'root restores into the directory of a service, whose account then owns it all, also a backup amid a rotation',
  async (t) => {
    const dir = await directory(t);
    const from = { DATA_DIR: join(dir, 'data') };
    const admin = await prepareAdmin(t, 'first', { ...FLEET_KEYS, ...from });
    await admin.start();
    await shell(dir, 'edge-admin rotate-encryption-key', from);
    const [backUp = ''] = await blocksOf('');
    t.regex(await shell(dir, backUp, from), /without \S+\/encryption\.key and \S+\/encryption-old\.keys no secret/u);
    await stopped(admin);
    const service = join(dir, 'service');
    await mkdir(service, { mode: 0o700 });
    await promisify(execFile)('chown', ['daemon:', service]);

    const [restore = ''] = await blocksOf('package');
    const here = restore.replaceAll('/var/lib/edge-admin', service).replace('edge-admin: ', 'daemon: ');
    t.regex(await shell(dir, here, {}), /^Restored \d+ rows/u);

    const owners = new Set(
      await Promise.all(
        ['postgres', 'postgres.log', 'encryption.key', 'encryption-old.keys'].map(
          async (name) => (await stat(join(service, name))).uid,
        ),
      ),
    );
    t.deepEqual(owners, new Set([(await stat(service)).uid]));
  },
);

test('the commands of the page serve a PostgreSQL of another version with its tools, and a backup that moves from it', async (t) => {
  t.timeout(hangAfter(120_000));
  const dir = await directory(t);
  const server = await ownServer(t, dir);
  const ENCRYPTION_KEY = randomBytes(32).toString('base64');
  const places = {
    DATABASE_URL: server.url('edge'),
    NEW_DATABASE_URL: server.url('newer'),
    NEWER_DATABASE_URL: server.url('newest'),
    ENCRYPTION_KEY,
    TOOLS: server.tools,
  };
  const [backUp = '', restore = '', ...others] = await blocksOf('own');
  t.deepEqual(others, []);
  const admin = await prepareAdmin(t, 'first', { ...FLEET_KEYS, DATABASE_URL: places.DATABASE_URL, ENCRYPTION_KEY });
  await admin.start();
  await restClient(() => admin.url, FLEET_KEYS.MASTER_KEY).post('/clusters', { name: 'kept' });

  await shell(dir, backUp, places);
  await stopped(admin);
  await shell(dir, restore, places);

  for (const url of [places.NEW_DATABASE_URL, places.NEWER_DATABASE_URL]) {
    const second = await prepareAdmin(t, 'second', { ...FLEET_KEYS, DATABASE_URL: url, ENCRYPTION_KEY });
    await second.start();
    t.deepEqual(await clustersAt(second), ['kept']);
    await stopped(second);
  }
});

/** A PostgreSQL that is installed on this machine, with its tools, of whatever version it is. */
async function ownServer(
  t: ExecutionContext,
  dir: string,
): Promise<{ readonly tools: string; url(database: string): string }> {
  const postgres = await peerPath('postgres');
  const tools = join(postgres, '..');
  const data = join(dir, 'server');
  const nobody = { uid: 65_534, gid: 65_534 };
  const account = process.getuid?.() === 0 ? nobody : {};
  await mkdir(data);
  if (process.getuid?.() === 0) await promisify(execFile)('chown', [`${nobody.uid}:${nobody.gid}`, data]);
  await promisify(execFile)(
    join(tools, 'initdb'),
    ['-D', join(data, 'pg'), '-U', 'edge', '--auth=trust', '--encoding=UTF8', '--locale=C'],
    { ...account, cwd: '/', env: { PATH: '/usr/bin:/bin' } },
  );
  const command = [
    postgres,
    '-D',
    join(data, 'pg'),
    '-c',
    'listen_addresses=',
    '-c',
    `unix_socket_directories=${data}`,
    '-c',
    'fsync=off',
  ];
  const [first = '', ...more] =
    process.getuid?.() === 0
      ? ['setpriv', `--reuid=${nobody.uid}`, `--regid=${nobody.gid}`, '--clear-groups', ...command]
      : command;
  const program = Program.run(t, first, more);
  const client = await until('the server of the machine', async () => {
    if (program.exit !== null) throw new Error(program.output);
    const one = new Client({ host: data, user: 'edge', database: 'postgres' });
    await one.connect();
    return one;
  });
  for (const database of ['edge', 'newer', 'newest']) await client.query(`create database ${database}`);
  await client.end();
  return { tools, url: (database) => `postgresql://edge@localhost/${database}?host=${encodeURIComponent(data)}` };
}
