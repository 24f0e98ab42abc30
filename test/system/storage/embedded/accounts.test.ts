/** An embedded PostgreSQL that root's admin runs under a borrowed account. */
import { readFileSync } from 'node:fs';
import { access, chown, constants, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../../persistence/embedded/launcher.ts';
import { preparePlace } from '../../../../persistence/embedded/place.ts';
import { silentLog } from '../../../support/log.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { until } from '../../../support/until.ts';
import { directory, query, start } from './fixture.ts';

const test = await peerTest('root');

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
  "root's database under a borrowed account keeps out its other processes, also if an older release let them in",
  async (t) => {
    const dir = directory(t);
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
  const dir = directory(t);
  await (await start(t, dir)).stop();
  const pgData = join(dir, 'postgres');
  const victim = join(directory(t), 'victim');
  await writeFile(victim, 'of root');
  await writeFile(join(pgData, 'pg_hba.conf'), 'local all all trust\n');
  await symlink(victim, join(pgData, `pg_hba.conf.new-${process.pid}`));

  const server = await start(t, dir);

  t.deepEqual([await readFile(victim, 'utf8'), (await stat(victim)).uid], ['of root', 0]);
  t.is(await loginAs((await stat(pgData)).uid, server), REFUSED);
});

test.serial('root below its closed home keeps the data where PostgreSQL can go, and finds them again', async (t) => {
  const dir = directory(t);
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

test.serial(
  'what root begins in the directory of a service, as a restore does, is found by that service as its own',
  async (t) => {
    const dir = directory(t);
    const [dataDir, sharedDir] = [join(dir, 'data'), join(dir, 'shared')];
    const { uid, gid } = userOf('daemon');
    await mkdir(dataDir, { mode: 0o700 });
    await chown(dataDir, uid, gid);
    const server = await startEmbeddedPostgres({ dataDir, sharedDir, log: silentLog });
    t.teardown(() => server.stop());
    await query(server, 'CREATE TABLE kept (id int)');
    await server.stop();

    process.seteuid?.(uid);
    try {
      const { pgData, account } = await preparePlace(dataDir, sharedDir);
      t.deepEqual([pgData, account], [join(dataDir, 'postgres'), undefined]);
      await access(join(dataDir, 'postgres.log'), constants.W_OK);
    } finally {
      process.seteuid?.(0);
    }
    t.is((await stat(join(dataDir, 'postgres'))).uid, uid);
  },
);

test.serial('root begins data in a directory of a user without an account as it does in its own', async (t) => {
  const dataDir = join(directory(t), 'data');
  await mkdir(dataDir, { mode: 0o755 });
  await chown(dataDir, 42_424, 42_424);

  const server = await start(t, dataDir);

  t.deepEqual(await query(server, 'select 1 as one'), [{ one: 1 }]);
});

function userOf(name: string): { readonly uid: number; readonly gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}
