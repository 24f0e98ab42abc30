import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { encryptionKeyIn } from '../../../persistence/embedded/encryption-key.ts';
import { EmbeddedPostgresError } from '../../../persistence/embedded/failure.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../persistence/embedded/launcher.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';

const STARTER = fileURLToPath(new URL('starter.ts', import.meta.url));
const isRoot = process.getuid?.() === 0;

async function directory(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'edge-embedded-'));
  await chmod(dir, 0o755); // root's PostgreSQL runs as another user
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** A directory with a database, made once for the tests that only need one. They are serial and leave it stopped. */
let made = '';
test.before(async () => {
  made = await mkdtemp(join(tmpdir(), 'edge-embedded-'));
  await chmod(made, 0o755);
  await (await startEmbeddedPostgres({ dataDir: made, log: silentLog })).stop();
});
test.after.always(() => rm(made, { recursive: true, force: true }));

async function start(t: ExecutionContext, dataDir: string, log = silentLog): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, log });
  t.teardown(() => server.stop());
  return server;
}

async function query(server: Pick<EmbeddedPostgres, 'connection'>, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client(server.connection);
  client.on('error', () => undefined); // a server that is killed says goodbye to everyone
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function startFails(dataDir: string): Promise<EmbeddedPostgresError> {
  try {
    const server = await startEmbeddedPostgres({ dataDir, log: silentLog });
    await server.stop();
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) return error;
    throw error;
  }
  throw new Error('it started');
}

test.serial(
  'a fresh directory becomes a durable server on a socket alone, which keeps its data over a restart',
  async (t) => {
    process.env.EDGE_CANARY = 'a secret of the admin';
    t.teardown(() => {
      delete process.env.EDGE_CANARY;
    });
    const dir = await directory(t);
    const first = await start(t, dir);
    const pid = (await first.pid()) ?? 0;

    await query(first, 'CREATE TABLE kept (id int)');
    const settings = await query(
      first,
      "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'listen_addresses', 'synchronous_commit') ORDER BY name",
    );
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
    await first.stop();
    await first.stop();
    const afterStop = await first.pid();
    const second = await start(t, dir);

    t.deepEqual(
      settings.map((row) => row.setting),
      ['on', 'on', '', 'on'],
    );
    t.notRegex(environment, /EDGE_CANARY/u);
    t.is(afterStop, undefined);
    t.deepEqual(await query(second, 'SELECT count(*)::int AS n FROM kept'), [{ n: 0 }]);
    t.deepEqual((await readdir(dir)).toSorted(), ['postgres', 'postgres.log']);
    t.is((await stat(join(dir, 'postgres'))).mode & 0o777, 0o700);
  },
);

test.serial('the server of an admin that was killed is taken over, running as it is', async (t) => {
  const starter = spawn(process.execPath, [STARTER, made], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(starter, 'exit');
  const [line] = (await once(createInterface({ input: starter.stdout }), 'line')) as [string];
  const orphan = JSON.parse(line) as { pid: number };
  starter.kill('SIGKILL');
  await exited;

  const adopted = await start(t, made);
  const pid = await adopted.pid();
  await adopted.stop();

  t.is(pid, orphan.pid);
  t.is(await adopted.pid(), undefined);
});

/**
 * What a login gets from the kernel's point of view of another user: the process is that user for the moment in which
 * it connects.
 */
async function loginAs(uid: number, { connection }: Pick<EmbeddedPostgres, 'connection'>): Promise<string> {
  const client = new Client(connection);
  client.on('error', () => undefined);
  process.seteuid?.(uid);
  const connecting = client.connect();
  process.seteuid?.(0);
  try {
    await connecting;
    return 'let in';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  } finally {
    await client.end();
  }
}

/** invalid_authorization_specification. Source: PostgreSQL, appendix A. */
const REFUSED = '28000';

test.serial(
  "of a database that root's admin runs under a borrowed account, other processes of that account are kept out, also where an earlier release let them in, running or not",
  async (t) => {
    if (!isRoot) {
      t.log('Left out: only root borrows another account.');
      t.pass();
      return;
    }
    const dir = await directory(t);
    const server = await start(t, dir);
    const pgData = join(dir, 'postgres');
    const { uid } = await stat(pgData);
    t.is(await loginAs(uid, server), REFUSED);
    t.deepEqual(await query(server, 'select current_user as name'), [{ name: 'edge' }]);
    t.is((await stat(join(pgData, 'pg_hba.conf'))).mode & 0o777, 0o600);

    const trusting = 'local all all trust\nhost all all all reject\n';
    await writeFile(join(pgData, 'pg_hba.conf'), trusting);
    process.kill((await server.pid()) ?? 0, 'SIGHUP');
    await until('the old rules', async () => (await loginAs(uid, server)) === 'let in');
    const second = await start(t, dir); // takes over the one that runs
    await until('the rules of now', async () => (await loginAs(uid, second)) === REFUSED);
    await second.stop();
    await server.stop();

    await writeFile(join(pgData, 'pg_hba.conf'), trusting);
    const third = await start(t, dir);
    t.is(await loginAs(uid, third), REFUSED);
    t.deepEqual(await query(third, 'select 1 as one'), [{ one: 1 }]);
  },
);

test.serial('what an account that root borrows puts in the way of its rules leads root to no other file', async (t) => {
  if (!isRoot) {
    t.log('Left out: only root borrows another account.');
    t.pass();
    return;
  }
  const dir = await directory(t);
  await (await start(t, dir)).stop();
  const pgData = join(dir, 'postgres');
  const victim = join(await directory(t), 'victim');
  await writeFile(victim, 'of root');
  await writeFile(join(pgData, 'pg_hba.conf'), 'local all all trust\n');
  await symlink(victim, join(pgData, `pg_hba.conf.new-${process.pid}`));

  const server = await start(t, dir);

  t.deepEqual([await readFile(victim, 'utf8'), (await stat(victim)).uid], ['of root', 0]);
  t.is(await loginAs((await stat(pgData)).uid, server), REFUSED);
});

test.serial('a server that is killed comes back at the same address with all that was committed', async (t) => {
  const log = recordingLog();
  const server = await start(t, made, log);
  const before = (await server.pid()) ?? 0;
  await query(server, 'CREATE TABLE kept AS SELECT 1 AS id');

  process.kill(before, 'SIGKILL');
  await log.seen(/ready again/u);

  t.not(await server.pid(), before);
  t.deepEqual(await query(server, 'SELECT id FROM kept'), [{ id: 1 }]);
});

test.serial('a server whose process for one client is killed recovers by itself', async (t) => {
  const log = recordingLog();
  const server = await start(t, made, log);
  const before = await server.pid();
  const [backend] = await query(
    server,
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );

  process.kill(Number(backend?.pid), 'SIGKILL');
  await log.seen(/ready again/u);

  t.is(await server.pid(), before);
  t.deepEqual(await query(server, 'SELECT 1 AS one'), [{ one: 1 }]);
});

test.serial('an end that meets a server on its way back ends that server too', async (t) => {
  for (let waitMs = 0; waitMs < 30; waitMs += 3) {
    const server = await start(t, made);
    const pid = await server.pid();
    if (pid === undefined) throw new Error('the server runs no more');
    process.kill(pid, 'SIGQUIT');
    await until('the next server to be ready', () => {
      const lines = readFileSync(join(made, 'postgres', 'postmaster.pid'), 'utf8').split('\n');
      return Number(lines[0]) !== pid && lines[7]?.startsWith('ready');
    });
    await delay(waitMs);

    const ended = await Promise.race([server.stop().then(() => true), delay(20_000, false, { ref: false })]);

    t.true(ended, `${waitMs} ms after it was ready`);
    t.is(await server.pid(), undefined);
  }
});

test.serial('two admins on one directory share the server, and the last to leave ends it', async (t) => {
  const [first, second] = await Promise.all([start(t, made), start(t, made)]);

  await first.stop();
  const afterFirst = await query(second, 'SELECT 1 AS one');
  await second.stop();

  t.deepEqual(afterFirst, [{ one: 1 }]);
  t.is(await second.pid(), undefined);
});

test.serial('a lock file that names another program of the same user does not hinder the start', async (t) => {
  const { uid, gid } = await stat(join(made, 'postgres'));
  const other = spawn('sleep', ['600'], { stdio: 'ignore', cwd: '/', ...(isRoot && { uid, gid }) });
  t.teardown(() => {
    other.kill('SIGKILL');
  });
  await writeFile(
    join(made, 'postgres', 'postmaster.pid'),
    `${other.pid}\n${join(made, 'postgres')}\n1\n5432\n${made}\n\n`,
  );

  const server = await start(t, made);

  t.deepEqual(await query(server, 'SELECT 1 AS one'), [{ one: 1 }]);
});

test.serial('a path too long for a socket is no hindrance', async (t) => {
  const dir = join(await directory(t), 'long'.repeat(30));

  const server = await start(t, dir);
  t.teardown(() => rm(server.connection.host, { recursive: true, force: true }));

  t.true(Buffer.byteLength(server.connection.host) < 90);
  t.is((await stat(server.connection.host)).mode & 0o777, 0o700);
  t.deepEqual(await query(server, 'SELECT 1 AS one'), [{ one: 1 }]);
});

test('data of another major version are refused, and left as they are', async (t) => {
  const dir = await directory(t);
  await mkdir(join(dir, 'postgres'));
  await writeFile(join(dir, 'postgres', 'PG_VERSION'), '19\n');

  const failure = await startFails(dir);

  t.is(failure.code, 'wrong-version');
  t.regex(failure.message, /theirs is 19, ours is 18\): use the release that made them, or set another DATA_DIR\.$/u);
  t.deepEqual(await readdir(join(dir, 'postgres')), ['PG_VERSION']);
});

test('a directory full of other files is refused, and left as it is', async (t) => {
  const dir = await directory(t);
  await mkdir(join(dir, 'postgres'));
  await writeFile(join(dir, 'postgres', 'letters.txt'), 'dear');

  const failure = await startFails(dir);

  t.regex(failure.message, /holds files, but no PostgreSQL database/u);
  t.deepEqual(await readdir(join(dir, 'postgres')), ['letters.txt']);
});

test('a directory that cannot be written is refused in one line that says what to do', async (t) => {
  const dir = await directory(t);
  await writeFile(join(dir, 'file'), '');

  const readOnly = await startFails('/sys/edge-embedded'); // nobody can make a directory there, root neither
  const file = await startFails(join(dir, 'file'));

  t.deepEqual([readOnly.code, file.code], ['not-writable', 'not-writable']);
  t.regex(readOnly.message, /^\/sys\/edge-embedded cannot be written \(\w+\): give the user/u);
  t.regex(file.message, /is not a directory/u);
});

test.serial('a full disk is told as such, at the first start and at a later one, and nothing is lost', async (t) => {
  const dir = await directory(t);
  const mounted =
    isRoot &&
    (await promisify(execFile)('mount', ['-t', 'tmpfs', '-o', 'size=110m', 'none', dir]).then(
      () => true,
      () => false,
    ));
  if (!mounted) {
    t.log('Left out: making a small file system needs root and the right to mount.');
    t.pass();
    return;
  }
  t.teardown(async () => {
    await promisify(execFile)('umount', ['-l', dir]);
  });
  const fill = (leave: number) =>
    promisify(execFile)('sh', [
      '-c',
      `free=$(df --output=avail -k "$1" | tail -1); head -c $(( free * 1024 - ${leave} )) /dev/zero > "$1/fill"`,
      'sh',
      dir,
    ]);

  await fill(20_000_000);
  const first = await startFails(dir);
  const leftovers = (await readdir(dir)).filter((name) => name !== 'fill');
  await rm(join(dir, 'fill'));
  const server = await start(t, dir);
  await query(server, 'CREATE TABLE kept (id int)');
  await server.stop();
  await fill(0);
  const later = await startFails(dir);
  await rm(join(dir, 'fill'));
  const again = await start(t, dir);
  const kept = await query(again, 'SELECT count(*)::int AS n FROM kept');
  await again.stop();

  t.deepEqual([first.code, later.code], ['disk-full', 'disk-full']);
  t.regex(first.message, /is full: free some space/u);
  t.deepEqual(leftovers, []);
  t.deepEqual(kept, [{ n: 0 }]);
});

test.serial('root below its closed home keeps the data where PostgreSQL can go, and finds them again', async (t) => {
  if (!isRoot) {
    t.log('Left out: only root borrows another account.');
    t.pass();
    return;
  }
  const dir = await directory(t);
  const [home, sharedDir] = [join(dir, 'home'), join(dir, 'shared')];
  await mkdir(home, { mode: 0o700 });
  const options = { dataDir: join(home, 'data'), sharedDir, log: silentLog };

  const first = await startEmbeddedPostgres(options);
  t.teardown(() => first.stop());
  await query(first, 'CREATE TABLE kept (id int)');
  await first.stop();
  const second = await startEmbeddedPostgres(options);
  t.teardown(() => second.stop());

  t.true((await readFile(join(home, 'data', 'location'), 'utf8')).startsWith(sharedDir));
  t.deepEqual(await query(second, 'SELECT count(*)::int AS n FROM kept'), [{ n: 0 }]);
});

test('data whose place is gone are missed, not replaced by empty ones', async (t) => {
  const dir = await directory(t);
  await writeFile(join(dir, 'location'), '/nowhere/postgres\n');

  const failure = await startFails(dir);

  t.is(failure.code, 'not-reachable');
  t.regex(failure.message, /which is not there: bring it back/u);
});

test('the encryption key is made once, by however many ask, and only its owner can read it', async (t) => {
  const dir = await directory(t);

  const keys = await Promise.all(Array.from({ length: 8 }, () => encryptionKeyIn(dir)));

  t.is(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size, 1);
  t.is(keys[0]?.length, 32);
  t.deepEqual(await encryptionKeyIn(dir), keys[0]);
  t.is((await stat(join(dir, 'encryption.key'))).mode & 0o777, 0o600);
  t.deepEqual(await readdir(dir), ['encryption.key']);
});

test('a damaged encryption key is refused, not replaced', async (t) => {
  const dir = await directory(t);
  await writeFile(join(dir, 'encryption.key'), 'short\n');

  await t.throwsAsync(encryptionKeyIn(dir), {
    instanceOf: EmbeddedPostgresError,
    message: /holds no key of 32 bytes/u,
  });
  t.is(await readFile(join(dir, 'encryption.key'), 'utf8'), 'short\n');
});
