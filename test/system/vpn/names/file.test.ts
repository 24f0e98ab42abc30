/** Files of others, changed in place. */
import { execFile } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { editFile } from '../../../../agent/vpn/names/file.ts';
import { writeHosts } from '../../../../agent/vpn/names/hosts.ts';
import { FILE_BYTES_MAX } from '../../../../agent/vpn/names/limits.ts';
import { vpnRecords } from '../../../../agent/vpn/names/records.ts';
import { hookResolvConf, objectionIn, unhookResolvConf } from '../../../../agent/vpn/names/system/resolv-conf.ts';
import { network, OTHER, peer, SELF } from '../../../support/agent/names-fixture.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

function file(t: ExecutionContext, content: string | Buffer): string {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'hosts');
  writeFileSync(path, content);
  return path;
}

/** Where the lock of a file stands. See agent/vpn/names/file.ts. */
function lockOf(path: string): string {
  return join(tmpdir(), `edge-agent-names-${createHash('sha256').update(path).digest('hex').slice(0, 16)}.lock`);
}

test('the file stays the same one, with its mode, and no byte of others changes', async (t) => {
  const bytes = Buffer.from([...Array.from({ length: 256 }).keys()]);
  const path = file(t, bytes);
  chmodSync(path, 0o640);
  const second = `${path}-2`;
  linkSync(path, second); // what a mount is to a rename
  const { ino, mode } = statSync(path);
  const records = vpnRecords(SELF, network(), [peer(OTHER, 3, ['web-1'])]);

  t.is(await writeHosts(path, SELF, records), null);
  t.regex(readFileSync(second, 'latin1'), /web-1\.prod\.edge\.internal/u);
  t.like(statSync(path), { ino, mode });
  t.is(await writeHosts(path, SELF, null), null);
  t.deepEqual(readFileSync(second), bytes);
});

test('nothing is written when nothing is other', async (t) => {
  const path = file(t, '127.0.0.1 localhost\n');
  utimesSync(path, 1, 1);

  t.is(await editFile(path, (text) => text), null);
  t.is(statSync(path).mtimeMs, 1_000);
});

test('a file that is not there, is no file, or is too large is left alone, with the reason', async (t) => {
  const path = file(t, '');
  const directory = `${path}-directory`;
  mkdirSync(directory);
  writeFileSync(`${path}-large`, Buffer.alloc(FILE_BYTES_MAX + 1));

  t.is(await editFile(`${path}-none`, () => 'x'), 'it does not exist');
  t.regex((await editFile(directory, () => 'x')) ?? '', /EISDIR/u);
  t.is(await editFile(`${path}-large`, () => 'x'), `it is larger than ${FILE_BYTES_MAX} bytes`);
});

test('agents that write at the same time lose no line of each other', async (t) => {
  const path = file(t, '');
  const program = join(path, '..', 'program.ts');
  writeFileSync(
    program,
    `import { editFile } from '${resolve('agent/vpn/names/file.ts')}';
    for (let count = 0; count < 40; count += 1) {
      const problem = await editFile(process.argv[2], (text) => text + process.argv[3] + ' ' + count + '\\n');
      if (problem !== null) throw new Error(problem);
    }`,
  );
  const run = promisify(execFile);
  const writers = ['a', 'b', 'c', 'd'];

  await Promise.all(writers.map((writer) => run(process.execPath, [program, path, writer])));

  t.deepEqual(
    readFileSync(path, 'utf8').trim().split('\n').toSorted(),
    writers.flatMap((writer) => Array.from({ length: 40 }, (_, count) => `${writer} ${count}`)).toSorted(),
  );
});

test('a lock that a dead agent left, or a directory in its place, stops nobody', async (t) => {
  const path = file(t, 'a');
  t.teardown(() => rmSync(lockOf(path), { recursive: true, force: true }));
  writeFileSync(lockOf(path), '');
  utimesSync(lockOf(path), 1, 1);
  t.is(await editFile(path, () => 'b'), null);

  mkdirSync(lockOf(path));
  utimesSync(lockOf(path), 1, 1);
  t.is(await editFile(path, () => 'c'), null);
  t.is(readFileSync(path, 'utf8'), 'c');
});

test('our server comes first in resolv.conf and goes without a trace', async (t) => {
  for (const before of [
    'search a\nnameserver 192.0.2.1',
    '; x\r\nnameserver 192.0.2.1\r\n',
    'nameserver\t192.0.2.1\noptions timeout:1\n',
  ]) {
    const path = file(t, before);
    t.is(await hookResolvConf(path, SELF, '127.1.2.3'), null);
    t.is(
      readFileSync(path, 'utf8'),
      `# BEGIN edge-agent ${SELF}\nnameserver 127.1.2.3\n# END edge-agent ${SELF}\n${before}`,
    );
    t.is(await hookResolvConf(path, SELF, '127.1.2.4'), null);
    t.is(await unhookResolvConf(path, SELF), null);
    t.is(readFileSync(path, 'utf8'), before);
  }
});

test('where a server for one domain would break others, resolv.conf stays as it is', (t) => {
  t.deepEqual(
    [
      'nameserver 192.0.2.1',
      ' nameserver 192.0.2.1\noptions ndots:5\n',
      '# options rotate\nnameserver 192.0.2.1',
      '',
      'search a',
      '#nameserver 192.0.2.1',
      'options edns0 rotate\nnameserver 192.0.2.1',
      `# BEGIN edge-agent ${OTHER}\nnameserver 127.1.1.1\n# END edge-agent ${OTHER}\nnameserver 192.0.2.1`,
    ].map((text) => objectionIn(text) === null),
    [true, true, true, false, false, false, false, false],
  );
});
