/** docs/operations.md: its commands, as they stand there, rotate the secrets of admins and machines in use. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { hangAfter } from '../../support/busy.ts';
import { createDatabase } from '../../support/database/database.ts';
import { startFleet, FLEET_KEYS } from '../../support/fleet.ts';
import { prepareAdmin } from '../../support/fleet/admin-program.ts';
import { enrollmentIn, FREE_PORTS } from '../../support/fleet/agent-program.ts';
import { Program } from '../../support/fleet/program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { programFile } from '../../support/run/programs.ts';
import { urlOf } from '../../support/database/server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const PAGE = new URL('../../../docs/operations.md', import.meta.url);

const TEST_MS_MAX = 240_000;

/** A rotation takes 35 s and what sealing takes. */
const ROTATED_MS_MAX = 120_000;

const DONE =
  'nothing is sealed under a former ENCRYPTION_KEY any more: take it out of ENCRYPTION_KEYS_OLD, and keep it with the backups from before';

/** The blocks of a kind, in their order. */
async function blocksOf(kind: string): Promise<readonly string[]> {
  const page = await readFile(PAGE, 'utf8');
  return [...page.matchAll(new RegExp(`^\`\`\`sh${kind}\\n(?<text>.*?)^\`\`\`$`, 'gmsu'))].map(
    ({ groups }) => groups?.['text'] ?? '',
  );
}

/** A directory with the programs as commands. `run` has a shell there run commands of the page. */
async function place(t: ExecutionContext) {
  const directory = temporaryDirectory(t, 0o755);
  await mkdir(join(directory, 'bin'));
  for (const name of ['edge', 'edge-admin', 'edge-agent'] as const)
    await writeFile(
      join(directory, 'bin', name),
      `#!/bin/sh\nexec "${process.execPath}" "${programFile(name)}" "$@"\n`,
      { mode: 0o755 },
    );
  const run = (commands: string, env: Readonly<Record<string, string>> = {}) =>
    Program.run(
      t,
      '/bin/sh',
      ['-euc', `cd ${directory}\n${commands.replace(/^(.*edge-a\w+ (?:serve|up))$/mu, 'exec env $1')}`],
      {
        PATH: `${join(directory, 'bin')}:${process.env['PATH']}`,
        HOME: directory,
        ...env,
      },
    );
  const done = async (commands: string, env: Readonly<Record<string, string>> = {}) => {
    const program = run(commands, env);
    const { code } = await program.ended();
    t.is(code, 0, program.output);
  };
  return { directory, run, done };
}

/** Stops a program in order. */
async function stop(program: Program): Promise<void> {
  program.terminate();
  await program.ended();
}

test('the commands of the page give an admin with its own database a new ENCRYPTION_KEY and a new MASTER_KEY', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const { directory, run, done } = await place(t);
  const masterKey = randomBytes(32).toString('hex');
  await writeFile(join(directory, 'encryption.key'), `${randomBytes(32).toString('base64')}\n`);
  await writeFile(join(directory, 'master.key'), `${masterKey}\n`);
  const port = String(await freePort());
  const env = {
    DATABASE_URL: urlOf(await createDatabase(t)),
    ADMIN_API_HOST: '127.0.0.1',
    ADMIN_API_PORT: port,
    ADMIN_PROXY_ENABLED: 'false',
    ADMIN_OBSERVER_PORT: '0',
    ADMIN_GATEWAY_ENABLED: 'false',
  };
  const start = async (settings: string) => {
    const program = run(settings, env);
    await program.logged('edge-admin is ready');
    return program;
  };
  const [prepared = '', callers = ''] = (await blocksOf('')).filter((block) => block.startsWith('mv '));
  const [rotating = ''] = await blocksOf(' encryption');
  const [letting = ''] = await blocksOf(' callers');
  const before = await start('ENCRYPTION_KEY_FILE=encryption.key MASTER_KEY_FILE=master.key edge-admin serve\n');
  const rest = (key: string) => restClient(() => `http://127.0.0.1:${port}`, key);
  await rest(masterKey).post('/clusters', { name: 'kept' });
  const { id, key } = await rest(masterKey).post<EnrollmentKeyResource>('/clusters/kept/enrollment_keys', {});

  await stop(before);
  await done(prepared);
  await done(callers);
  const next = (await readFile(join(directory, 'master.key'), 'utf8')).trim();
  const settings = (block: string) => block.replace('edge-admin serve', '').trim();
  const during = await start(`${settings(rotating)} ${settings(letting)} edge-admin serve\n`);
  await during.logged(DONE, 0, ROTATED_MS_MAX);
  const shown = await Promise.all(
    [masterKey, next].map(async (one) => (await rest(one).get<EnrollmentKeyResource>(`/enrollment_keys/${id}`)).key),
  );
  await stop(during);
  await start('ENCRYPTION_KEY_FILE=encryption.key MASTER_KEY_FILE=master.key edge-admin serve\n');

  t.deepEqual(shown, [key, key]);
  t.is((await rest(next).get<EnrollmentKeyResource>(`/enrollment_keys/${id}`)).key, key);
  t.is((await rest(masterKey).call('GET', '/clusters')).status, 401);
});

test('the key in DATA_DIR is rotated by its command, and the former one taken away by that of the page', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const { directory, done } = await place(t);
  const places = { DATA_DIR: join(directory, 'data'), BACKUPS: directory };
  const [rotate = '', takeAway = ''] = await blocksOf(' embedded');
  const admin = await prepareAdmin(t, 'alone', { ...FLEET_KEYS, DATA_DIR: places.DATA_DIR });
  const rest = restClient(() => admin.url, FLEET_KEYS.MASTER_KEY);
  await admin.start();
  await rest.post('/clusters', { name: 'kept' });
  const { id, key } = await rest.post<EnrollmentKeyResource>('/clusters/kept/enrollment_keys', {});
  const first = await readFile(join(places.DATA_DIR, 'encryption.key'), 'utf8');

  await done(rotate, places);
  await stop(admin.program);
  await admin.start();
  await admin.program.logged(DONE, 0, ROTATED_MS_MAX);
  await done(takeAway, places);
  await stop(admin.program);
  await admin.start();

  t.is((await rest.get<EnrollmentKeyResource>(`/enrollment_keys/${id}`)).key, key);
  t.is(await readFile(join(directory, 'encryption-old.keys'), 'utf8'), first);
  t.not(await readFile(join(places.DATA_DIR, 'encryption.key'), 'utf8'), first);
});

test('a machine gets another token and another proxy password, and stays the node that it was', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const fleet = await startFleet(t, { agents: 1 });
  const { run, done } = await place(t);
  const agent = fleet.agent();
  const { node, enrollment, dataDirectory } = agent;
  const [operator = ''] = await blocksOf(' operator');
  const [machine = ''] = await blocksOf(' machine');

  await done(operator, {
    CLUSTER: 'fleet',
    NODE: node,
    EDGE_URL: fleet.admin().url,
    EDGE_API_KEY: FLEET_KEYS.MASTER_KEY,
  });
  await stop(agent.program);
  const again = run(machine, { AGENT_DATA_DIR: dataDirectory, ADMIN_URLS: fleet.admin().url, ...FREE_PORTS });
  await again.logged('Connected');

  const given = enrollmentIn(dataDirectory);
  t.is(node, given?.node_id ?? '');
  t.not(given?.api_token, enrollment.api_token);
  t.not(given?.proxy_password, enrollment.proxy_password);
  const { length } = await fleet.rest.get<readonly NodeResource[]>('/nodes');
  t.is(length, 1);
  await until('the node to be healthy', async () => (await fleet.node()).status === 'healthy');
});
