/** `edge-admin` as a program: its words, its settings, and how it begins and ends. */
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import packageFile from '../../../package.json' with { type: 'json' };
import { ADMIN_SETTINGS } from '../../../settings/admin.ts';
import { createDatabase } from '../../support/database/database.ts';
import { startNode, type RunningProgram } from '../../support/edge-program.ts';
import { takenPort } from '../../support/net/listening.ts';
import { until } from '../../support/until.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PROGRAM = fileURLToPath(new URL('../../../cli/edge-admin.ts', import.meta.url));

/** The least settings with which it serves, on a database of its own. */
async function servable(t: Parameters<typeof createDatabase>[0]): Promise<Record<string, string>> {
  const { host, user, database } = await createDatabase(t, { schema: 'empty' });
  return {
    MASTER_KEY: 'a-master-key-for-tests',
    ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    DATABASE_URL: `postgresql:///${database}?user=${user}&host=${encodeURIComponent(host)}`,
    ADMIN_API_HOST: '127.0.0.1',
    ADMIN_API_PORT: '0',
    ADMIN_PROXY_HOST: '127.0.0.1',
    ADMIN_HTTP_PROXY_PORT: '0',
    ADMIN_SOCKS5_PROXY_PORT: '0',
    ADMIN_OBSERVER_PORT: '0',
    ADMIN_GATEWAY_ENABLED: 'false',
  };
}

const edgeAdmin = (args: readonly string[], env: Record<string, string> = {}) =>
  startNode([PROGRAM, ...args], env).ended;

interface Line {
  readonly msg: string;
  readonly url?: string;
}

/** Serves until it is ready, and shows each line of the log meanwhile to `see`. It ends with the test. */
async function serve(
  t: ExecutionContext,
  env: Record<string, string>,
  see: (line: Line) => unknown = () => {},
): Promise<{ readonly running: RunningProgram; readonly url: string }> {
  const running = startNode([PROGRAM, 'serve'], env);
  t.teardown(() => void running.process.kill('SIGKILL'));
  for await (const text of createInterface({ input: running.process.stderr })) {
    const line = JSON.parse(text) as Line;
    await see(line);
    if (line.msg === 'edge-admin is ready') return { running, url: line.url ?? '' };
  }
  throw new Error(`it ended: ${running.stderr}`);
}

test("the version is the package's", async (t) => {
  t.deepEqual(await edgeAdmin(['--version']), { status: 0, stdout: `${packageFile.version}\n`, stderr: '' });
});

test('the help names every setting', async (t) => {
  const { status, stdout } = await edgeAdmin(['--help']);

  t.is(status, 0);
  t.deepEqual(
    Object.keys(ADMIN_SETTINGS).filter((name) => !stdout.includes(`  ${name} `)),
    [],
  );
});

test('the settings can be had as Markdown, for docs/settings.md', async (t) => {
  const { stdout } = await edgeAdmin(['settings', '--markdown']);

  t.is(stdout.trimEnd().split('\n').length, Object.keys(ADMIN_SETTINGS).length + 2);
});

test('a variable that is no setting is told of in the log, with the one that was meant', async (t) => {
  const { status, stdout, stderr } = await edgeAdmin(['serve'], {
    MASTER_KEY: 'a-master-key-for-tests',
    ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    DATABASE_URL: 'postgresql://127.0.0.1:2/none',
    DATABASE_WAIT_MS: '0',
    ADMIN_API_PROT: 'hidden',
    AGENT_ALIAS: 'of another program',
  });

  t.is(status, 1);
  t.regex(stdout + stderr, /"ADMIN_API_PROT is no setting and does nothing: did you mean ADMIN_API_PORT\?"/u);
  t.notRegex(stdout + stderr, /hidden|AGENT_ALIAS/u);
});

test('bad settings are refused in a line each, with status 2, and no secret among them', async (t) => {
  const { status, stdout, stderr } = await edgeAdmin(['serve'], {
    MASTER_KEY: 'CANARY',
    ADMIN_API_PORT: 'https',
    DATABASE_URL: 'CANARY',
  });

  t.is(status, 2);
  t.is(stdout, '');
  t.is(stderr.trimEnd().split('\n').length, 3);
  t.true(
    stderr
      .trimEnd()
      .split('\n')
      .every((line) => line.startsWith('edge-admin: ')),
  );
  t.notRegex(stderr, /CANARY/u);
});

for (const [args, complaint] of [
  [[], 'a command is missing'],
  [['sevre'], 'there is no command "sevre"'],
  [['serve', 'now'], 'unexpected argument "now"'],
  [['--hlep'], 'Unknown option'],
] as const) {
  test(`the arguments "${args.join(' ')}" are refused in one line, with status 2`, async (t) => {
    const { status, stderr } = await edgeAdmin(args);

    t.is(status, 2);
    t.regex(stderr, new RegExp(`^edge-admin: .*${complaint}.*\n$`, 'u'));
  });
}

test('it serves until SIGTERM, and ends with status 0', async (t) => {
  const { running, url } = await serve(t, await servable(t));

  // A check that a busy machine made late is red for a moment.
  await until('it to be healthy', async () => (await fetch(`${url}/healthz`)).status === 200);
  running.process.kill('SIGTERM');

  t.is((await running.ended).status, 0);
});

test('with nothing set it makes the key that opens it, and says where it is at each start, and what it is never', async (t) => {
  const { MASTER_KEY: _given, ENCRYPTION_KEY: _other, DATABASE_URL: _shared, ...env } = await servable(t);
  const directory = temporaryDirectory(t);
  const file = join(directory, 'master.key');
  const keys = new Set<string>();

  for (const start of ['first', 'second']) {
    const told: string[] = [];
    const { running, url } = await serve(t, { ...env, DATA_DIR: directory }, ({ msg }) => {
      if (msg.startsWith('MASTER_KEY')) told.push(msg);
    });
    const key = readFileSync(file, 'utf8').trim();
    keys.add(key);
    const headers = { authorization: `Bearer ${key}` };

    t.is((await fetch(`${url}/api/v1/nodes`, { headers })).status, 200, start);
    t.deepEqual(told, [`MASTER_KEY is not set: the key that opens this admin is in ${file}`]);
    running.process.kill('SIGTERM');
    const { status, stdout, stderr } = await running.ended;
    t.is(status, 0);
    t.false((stdout + stderr).includes(key));
  }
  t.is(keys.size, 1);
  t.is(statSync(file).mode & 0o777, 0o600);
});

test('a port that is taken is told in one line, with status 1', async (t) => {
  const port = await takenPort(t);

  const { status, stderr } = await edgeAdmin(['serve'], {
    ...(await servable(t)),
    ADMIN_API_PORT: String(port),
    LOG_LEVEL: 'silent',
  });

  t.is(status, 1);
  t.is(
    stderr,
    `edge-admin: another program listens there already (ADMIN_API_HOST 127.0.0.1, ADMIN_API_PORT ${port}): end it, or set another ADMIN_API_PORT\n`,
  );
});

test('a database that cannot be reached is told in one line, without its password, with status 1', async (t) => {
  const { status, stderr } = await edgeAdmin(['serve'], {
    ...(await servable(t)),
    DATABASE_URL: 'postgresql://me:CANARY@127.0.0.1:1/edge',
    DATABASE_WAIT_MS: '0',
    LOG_LEVEL: 'silent',
  });

  t.is(status, 1);
  t.regex(
    stderr,
    /^edge-admin: The database is not available.*ECONNREFUSED 127\.0\.0\.1:1\. See that DATABASE_URL.*\n$/u,
  );
  t.notRegex(stderr, /CANARY/u);
});

test('a database that is not there yet is waited for, with one line that says so', async (t) => {
  const directory = temporaryDirectory(t);
  const late = join(directory, 'socket');
  const { DATABASE_URL = '', ...env } = await servable(t);
  const url = new URL(DATABASE_URL);
  const socket = url.searchParams.get('host') ?? '';
  url.searchParams.set('host', late);
  const told: string[] = [];

  await serve(t, { ...env, DATABASE_URL: url.href }, async ({ msg }) => {
    if (msg.startsWith('The database')) told.push(msg);
    if (told.length === 1 && msg === told[0]) await symlink(socket, late);
  });

  t.deepEqual(told, ['The database does not answer yet: it is tried again for 24 h', 'The database answers']);
});

test('SIGTERM ends the wait for a database that is not there, with status 0', async (t) => {
  const running = startNode([PROGRAM, 'serve'], {
    ...(await servable(t)),
    DATABASE_URL: 'postgresql://me@127.0.0.1:1/edge',
  });
  t.teardown(() => void running.process.kill('SIGKILL'));
  await running.says('stderr', /The database does not answer yet/u);

  running.process.kill('SIGTERM');
  const { status, stderr } = await running.ended;

  t.is(status, 0);
  t.regex(stderr, /Stopping/u);
  t.notRegex(stderr, /takes too long|could not be stopped/u);
});

test('an admin that asks for no key says so once when it starts', async (t) => {
  const warnings: string[] = [];
  await serve(t, { ...(await servable(t)), ALL_AUTH_ENABLED: 'false' }, ({ msg }) => {
    if (msg.startsWith('no key is asked for')) warnings.push(msg);
  });

  t.deepEqual(warnings, [
    'no key is asked for by the API (127.0.0.1), the metrics (127.0.0.1), MCP (127.0.0.1), the proxies (127.0.0.1): whoever reaches that may use it',
  ]);
});
