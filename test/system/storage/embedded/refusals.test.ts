/** Directories on which the embedded PostgreSQL does not start, and why it says so. */
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { peerTest } from '../../../support/run/peer-test.ts';
import { fill, smallDisk } from '../../../support/small-disk.ts';
import { directory, query, start, startFails } from './fixture.ts';

const rootTest = await peerTest('root');

test('data of another major version are refused, and left as they are', async (t) => {
  const dir = directory(t);
  await mkdir(join(dir, 'postgres'));
  await writeFile(join(dir, 'postgres', 'PG_VERSION'), '19\n');

  const failure = await startFails(dir);

  t.is(failure.code, 'wrong-version');
  t.regex(failure.message, /theirs is 19, ours is 18\): use the release that made them, or set another DATA_DIR\.$/u);
  t.deepEqual(await readdir(join(dir, 'postgres')), ['PG_VERSION']);
});

test('a directory full of other files is refused, and left as it is', async (t) => {
  const dir = directory(t);
  await mkdir(join(dir, 'postgres'));
  await writeFile(join(dir, 'postgres', 'letters.txt'), 'dear');

  const failure = await startFails(dir);

  t.regex(failure.message, /holds files, but no PostgreSQL database/u);
  t.deepEqual(await readdir(join(dir, 'postgres')), ['letters.txt']);
});

test('a directory that cannot be written is refused in one line that says what to do', async (t) => {
  const dir = directory(t);
  await writeFile(join(dir, 'file'), '');

  const readOnly = await startFails('/sys/edge-embedded'); // nobody can make a directory there, root neither
  const file = await startFails(join(dir, 'file'));

  t.deepEqual([readOnly.code, file.code], ['not-writable', 'not-writable']);
  t.regex(readOnly.message, /^\/sys\/edge-embedded cannot be written \(\w+\): give the user/u);
  t.regex(file.message, /is not a directory/u);
});

rootTest.serial(
  'a full disk is told as such, at the first start and at a later one, and nothing is lost',
  async (t) => {
    const dir = smallDisk(t, 110 * 1_024, 0o755);
    if (dir === null) return t.fail('root may mount a disk');

    const make = fill(dir, 17_000_000);
    const first = await startFails(dir);
    const leftovers = (await readdir(dir)).filter((name) => name !== 'filler');
    make();
    const server = await start(t, dir);
    await query(server, 'CREATE TABLE kept (id int)');
    await server.stop();
    const makeAgain = fill(dir);
    const later = await startFails(dir);
    makeAgain();
    const again = await start(t, dir);

    t.deepEqual([first.code, later.code], ['disk-full', 'disk-full']);
    t.regex(first.message, /is full: free some space/u);
    t.deepEqual(leftovers, []);
    t.deepEqual(await query(again, 'SELECT count(*)::int AS n FROM kept'), [{ n: 0 }]);
    return undefined;
  },
);

test('data whose place is gone are missed, not replaced by empty ones', async (t) => {
  const dir = directory(t);
  await writeFile(join(dir, 'location'), '/nowhere/postgres\n');

  const failure = await startFails(dir);

  t.is(failure.code, 'not-reachable');
  t.regex(failure.message, /which is not there: bring it back/u);
});
