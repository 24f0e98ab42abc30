/** The embedded PostgreSQL over its life: started, killed, shared, taken over. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { startEmbeddedPostgres } from '../../../../persistence/embedded/launcher.ts';
import { scaled } from '../../../support/busy.ts';
import { DIAL, openFragileDatabase } from '../../../support/database/fragile-database.ts';
import { recordingLog, silentLog } from '../../../support/log.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { directory, query, start } from './fixture.ts';
import { column } from '../../../support/database/columns.ts';

const STARTER = fileURLToPath(new URL('starter.ts', import.meta.url));
const isRoot = process.getuid?.() === 0;

/** A directory with a database, made once for the tests that only need one. They are serial and leave it stopped. */
let made = '';
const scope = createScope();
test.before(async () => {
  made = directory(scope);
  await (await startEmbeddedPostgres({ dataDir: made, log: silentLog })).stop();
});
test.after.always(() => scope.end());

test.serial(
  'a fresh directory becomes a durable server on a socket alone, which keeps its data over a restart',
  async (t) => {
    process.env.EDGE_CANARY = 'a secret of the admin';
    t.teardown(() => void delete process.env.EDGE_CANARY);
    const dir = directory(t);
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

    t.deepEqual(column(settings, 'setting'), ['on', 'on', '', 'on']);
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

test.serial('a server that is lost while an admin gets to it is got to again', async (t) => {
  const server = await start(t, made);
  const { host, port } = server.connection;
  const socket = join(host, `.s.PGSQL.${port}`);
  const aside = directory(t);
  await rename(socket, join(aside, basename(socket)));
  const direct = { connection: { ...server.connection, host: aside, database: 'postgres' } };
  const fragile = await openFragileDatabase(t, direct.connection, socket);

  for (const [index, statement] of [DIAL, 'SHOW', 'SELECT', 'CREATE'].entries()) {
    await query(direct, 'DROP DATABASE edge WITH (FORCE)');
    fragile.loseAt(index + 1, 'unheard');
    const second = await startEmbeddedPostgres({ dataDir: made, log: silentLog });
    await second.stop();

    t.is(fragile.asked[index]?.split(' ')[0], statement);
    t.deepEqual(await query(direct, "SELECT datname FROM pg_database WHERE datname = 'edge'"), [{ datname: 'edge' }]);
  }
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

    const ended = await Promise.race([server.stop().then(() => true), delay(scaled(20_000), false, { ref: false })]);

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
  const dir = join(directory(t), 'long'.repeat(30));

  const server = await start(t, dir);
  t.teardown(() => rm(server.connection.host, { recursive: true, force: true }));

  t.true(Buffer.byteLength(server.connection.host) < 90);
  t.is((await stat(server.connection.host)).mode & 0o777, 0o700);
  t.deepEqual(await query(server, 'SELECT 1 AS one'), [{ one: 1 }]);
});
