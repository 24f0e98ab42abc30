/** What a user may do over SFTP is what the kernel lets that account do, and what the disk has room for. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ava, { type Implementation } from 'ava';
import { fill, smallDisk } from '../../../support/small-disk.ts';
import {
  DONE,
  namesOf,
  NO_ATTRIBUTES,
  NOBODY,
  OPENS,
  REQUEST,
  SftpProcess,
  text,
  u32,
  u64,
} from '../../../support/agent/sftp-process.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const { CLOSE, EXTENDED, MKDIR, OPEN, OPENDIR, READDIR, REMOVE, RENAME, SETSTAT, STAT, WRITE } = REQUEST;
const { MAKING, READING } = OPENS;

const isRoot = process.getuid?.() === 0;
const test: (title: string, implementation: Implementation<[]>) => void = isRoot
  ? ava
  : (title, implementation) => ava.skip(`${title} (skipped: only root can become others)`, implementation);

test('a server that became an account has its user, its groups and nothing of root', async (t) => {
  const server = await SftpProcess.greeted(t, temporaryDirectory(t, 0o777), NOBODY);

  const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
  const tasks = execFileSync('sh', ['-c', `grep -h ^Uid: /proc/${server.child.pid}/task/*/status | sort -u`], {
    encoding: 'utf8',
  });

  t.regex(status, /^Uid:\t65534\t65534\t65534\t65534$/mu);
  t.regex(status, /^Gid:\t65534\t65534\t65534\t65534$/mu);
  t.regex(status, /^Groups:\t65534 $/mu);
  t.regex(status, /^CapPrm:\t0+$/mu);
  t.regex(status, /^CapEff:\t0+$/mu);
  t.is(tasks, 'Uid:\t65534\t65534\t65534\t65534\n', 'all threads');
  t.regex(status, /^Name:\tedge-agent sftp$/mu);
});

test('an account that the groups of the machine do not know has its own group only', async (t) => {
  const server = await SftpProcess.greeted(t, temporaryDirectory(t, 0o777), {
    name: 'nobody-of-this-name',
    uid: 12_345,
    gid: 54_321,
  });

  const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');

  t.regex(status, /^Uid:\t12345\t12345\t12345\t12345$/mu);
  t.regex(status, /^Groups:\t54321 $/mu);
});

test('an account reads, writes and changes what it may, and is told of the rest', async (t) => {
  const directory = temporaryDirectory(t, 0o777);
  const at = (name: string) => join(directory, name);
  mkdirSync(at('closed'), { mode: 0o700 });
  mkdirSync(at('listed'));
  writeFileSync(at('listed/file'), '');
  chmodSync(at('listed'), 0o744);
  writeFileSync(at('secret'), 'root only', { mode: 0o600 });
  writeFileSync(at('readable'), 'for all');
  const server = await SftpProcess.greeted(t, directory, NOBODY);
  const denied = [3, 'permission denied'] as const;

  t.deepEqual(await server.status(OPEN, text('secret'), READING, NO_ATTRIBUTES), denied);
  t.deepEqual(await server.status(OPEN, text('readable'), MAKING, NO_ATTRIBUTES), denied);
  t.deepEqual(await server.status(OPENDIR, text('closed')), denied);
  t.deepEqual(await server.status(STAT, text('closed/x')), denied);
  t.deepEqual(await server.status(OPEN, text('/etc/shadow'), READING, NO_ATTRIBUTES), denied);
  t.deepEqual(await server.status(SETSTAT, text('readable'), u32(4), u32(0o777)), [3, 'operation not permitted']);
  t.deepEqual(await server.status(MKDIR, text('/etc/of-nobody'), NO_ATTRIBUTES), denied);
  t.deepEqual(await server.status(REMOVE, text('listed/file')), denied);

  const handle = await server.handle(OPEN, text('own'), MAKING, NO_ATTRIBUTES);
  t.deepEqual(await server.status(WRITE, handle, u64(0), text('mine')), DONE);
  t.deepEqual(await server.status(SETSTAT, text('own'), u32(2), u32(0), u32(0)), [3, 'operation not permitted']);
  t.deepEqual(await server.status(EXTENDED, text('lsetstat@openssh.com'), text('own'), u32(4), u32(0o640)), DONE);
  t.like(statSync(at('own')), { uid: 65_534, gid: 65_534, size: 4, mode: 0o100_640 });
  t.deepEqual(
    await server.status(RENAME, text('readable'), text('of another')),
    DONE,
    'a directory that may be written to decides, not the file',
  );
  t.is(readFileSync(at('of another'), 'utf8'), 'for all');
});

test('files in a directory that may be listed but not entered are named all the same', async (t) => {
  const directory = temporaryDirectory(t, 0o777);
  mkdirSync(join(directory, 'listed'));
  writeFileSync(join(directory, 'listed/file'), '');
  chmodSync(join(directory, 'listed'), 0o744);
  const server = await SftpProcess.greeted(t, directory, NOBODY);
  const handle = await server.handle(OPENDIR, text('listed'));

  const names = namesOf(await server.ask(READDIR, handle)).map(({ name, long, size }) => [
    name.toString(),
    long.toString().replaceAll(/ +/gu, ' '),
    size,
  ]);

  t.deepEqual(names.at(-1), ['file', '?--------- ? ? ? ? ? file', null]);
});

test('owners are set by root, and a mode that lets others become the owner stays when both are asked for', async (t) => {
  const directory = temporaryDirectory(t, 0o777);
  writeFileSync(join(directory, 'file'), '');
  const server = await SftpProcess.greeted(t, directory);

  t.deepEqual(await server.status(SETSTAT, text('file'), u32(2 | 4), u32(1_234), u32(5_678), u32(0o4755)), DONE);
  t.like(lstatSync(join(directory, 'file')), { uid: 1_234, gid: 5_678, mode: 0o104_755 });
  chownSync(join(directory, 'file'), 0, 0);
});

test('a full disk is said in words, and what was written stays', async (t) => {
  const disk = smallDisk(t, 1_024);
  if (disk === null) return t.pass('no file system can be mounted here');
  const server = await SftpProcess.greeted(t, disk);
  const handle = await server.handle(OPEN, text('file'), MAKING, NO_ATTRIBUTES);
  t.deepEqual(await server.status(WRITE, handle, u64(0), text('kept')), DONE);

  const free = fill(disk);
  t.deepEqual(await server.status(WRITE, handle, u64(4), text(Buffer.alloc(200_000))), [4, 'no space left on device']);
  free();

  t.deepEqual(await server.status(WRITE, handle, u64(4), text(' and more')), DONE);
  t.deepEqual(await server.status(CLOSE, handle), DONE);
  t.is(readFileSync(join(disk, 'file')).toString('utf8', 0, 13), 'kept and more');
  return undefined;
});
