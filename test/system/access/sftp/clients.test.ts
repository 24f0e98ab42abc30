/** Other people's clients: scp and paramiko over SSH, sshfs as a file system. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sftpCommand } from '../../../../agent/access/sftp/command.ts';
import { peerPath } from '../../../support/run/peers.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { until } from '../../../support/until.ts';
import { startSshd } from './sshd.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { ENVIRONMENT } from '../../../support/agent/sftp-process.ts';

const overSsh = await peerTest('sftp', 'sshd');
const withParamiko = await peerTest('sshd', 'paramiko');
const withSshfs = await peerTest('sshfs');

const run = promisify(execFile);

const hash = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

overSsh('scp copies there and back, files and trees, with modes and times', async (t) => {
  const [{ words, username }, local, remote] = [
    await startSshd(t),
    temporaryDirectory(t, 0o777),
    temporaryDirectory(t, 0o777),
  ];
  writeFileSync(join(local, 'file'), randomBytes(20_000_000));
  chmodSync(join(local, 'file'), 0o751);
  utimesSync(join(local, 'file'), 1_500_000_000, 1_500_000_000);
  mkdirSync(join(local, 'tree/a/b'), { recursive: true });
  for (let index = 0; index < 30; index += 1)
    writeFileSync(join(local, `tree/a/b/file ${index}`), randomBytes(index * 1_000));
  const there = `${username}@127.0.0.1:${remote}`;

  await run('scp', [...words, '-p', join(local, 'file'), `${there}/file`]);
  await run('scp', [...words, '-r', join(local, 'tree'), there]);
  await run('scp', [...words, '-rp', `${there}/.`, join(local, 'back')]);

  for (const path of [join(remote, 'file'), join(local, 'back/file')]) {
    t.is(hash(path), hash(join(local, 'file')));
    t.like(statSync(path), { mode: 0o100_751, mtimeMs: 1_500_000_000_000 });
  }
  const files = readdirSync(join(local, 'tree/a/b')).toSorted();
  t.deepEqual(readdirSync(join(local, 'back/tree/a/b')).toSorted(), files);
  for (const file of files) t.is(hash(join(local, 'back/tree/a/b', file)), hash(join(local, 'tree/a/b', file)), file);
});

overSsh('scp is told what went wrong', async (t) => {
  const [{ words, username }, local] = [await startSshd(t), temporaryDirectory(t, 0o777)];
  writeFileSync(join(local, 'file'), '');

  const missing = await t.throwsAsync<Error & { stderr: string }>(
    run('scp', [...words, `${username}@127.0.0.1:${local}/missing`, local]),
  );
  const nowhere = await t.throwsAsync<Error & { stderr: string }>(
    run('scp', [...words, join(local, 'file'), `${username}@127.0.0.1:${local}/no/such/file`]),
  );

  t.regex(missing.stderr, /missing: No such file or directory/u);
  t.regex(nowhere.stderr, /no\/such\/file": No such file or directory/u);
});

withParamiko('paramiko reads, writes, lists, renames and asks, prefetched and in pieces', async (t) => {
  const [{ port, key, username }, remote] = [await startSshd(t), temporaryDirectory(t, 0o777)];

  const { stdout } = await run(await peerPath('paramiko'), [
    '-W',
    'ignore',
    '-c',
    PARAMIKO,
    String(port),
    key,
    username,
    remote,
  ]);

  t.deepEqual(JSON.parse(stdout), {
    same: true,
    pieces: 'abcdXYZhij',
    listed: ['big', 'moved', 'soft'],
    link: 'moved',
    normalized: remote,
    mode: '0o640',
    appended: 'abcdXYZhij!',
    size: 3,
    mtime: 1_234_567_890,
    missing: '[Errno 2] no such file or directory',
    exists: 'file already exists',
    home: true,
  });
});

withSshfs('sshfs makes a file system of it, on which ordinary programs work', async (t) => {
  if (!existsSync('/dev/fuse') || process.getuid?.() !== 0) return t.pass('no file system can be mounted here');
  const [remote, mount] = [temporaryDirectory(t, 0o777), temporaryDirectory(t, 0o777)];
  const [file, ...words] = sftpCommand(null);
  const server = spawn(file, words, { cwd: remote, env: ENVIRONMENT, stdio: ['pipe', 'pipe', 'inherit'] });
  const client = spawn(await peerPath('sshfs'), ['-f', '-o', 'slave', `:${remote}`, mount], {
    stdio: [server.stdout, server.stdin, 'ignore'],
  });
  server.stdin.destroy();
  server.stdout.destroy();
  const ended = Promise.all([once(server, 'exit'), once(client, 'exit')]);
  t.teardown(() => {
    client.kill('SIGKILL');
    server.kill('SIGKILL');
    spawnSync('umount', ['--lazy', mount], { stdio: 'ignore' }); // it was done already, unless something failed
  });
  await until('the file system to be there', () => statSync(mount).dev !== statSync(remote).dev);

  const { stdout } = await run('sh', ['-ec', SHELL, 'sh', mount], { cwd: '/' });
  await run('umount', [mount]);

  t.is(stdout, 'same\n4\nhello world\nlinked\nrefused\nchanged\n0\n');
  t.deepEqual(await ended, [
    [0, null],
    [0, null],
  ]);
  t.deepEqual(readdirSync(remote).toSorted(), ['copy.tar', 'tree']);
  return undefined;
});

const PARAMIKO = `
import sys, os, json, paramiko
port, key, user, remote = sys.argv[1:]
client = paramiko.SSHClient()
client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
client.connect('127.0.0.1', int(port), user, key_filename=key, allow_agent=False, look_for_keys=False)
sftp = client.open_sftp()
seen = {'home': sftp.normalize('.') == os.path.realpath(os.path.expanduser('~'))}
sftp.chdir(remote)
data = os.urandom(5_000_000)
with sftp.open('big', 'wb') as f:
    f.set_pipelined(True)
    f.write(data)
with sftp.open('big', 'rb') as f:
    f.prefetch()
    seen['same'] = f.read() == data
with sftp.open('big', 'rb') as f:
    seen['same'] = seen['same'] and [bytes(p) for p in f.readv([(10, 1000), (4_000_000, 100_000), (3, 2)])] == [data[10:1010], data[4_000_000:4_100_000], data[3:5]]
with sftp.open('file', 'w+') as f:
    f.write('abcdefghij')
    f.seek(4)
    f.write('XYZ')
    f.seek(0)
    seen['pieces'] = f.read().decode()
sftp.rename('file', 'moved')
sftp.symlink('moved', 'soft')
seen['listed'] = sorted(sftp.listdir())
seen['link'] = sftp.readlink('soft')
seen['normalized'] = sftp.normalize('x/..')
sftp.chmod('soft', 0o640)
seen['mode'] = oct(sftp.stat('moved').st_mode & 0o7777)
with sftp.open('moved', 'a') as f: f.write('!')
seen['appended'] = sftp.open('soft').read().decode()
sftp.truncate('moved', 3)
sftp.utime('moved', (1, 1234567890))
seen['size'], seen['mtime'] = sftp.stat('moved').st_size, sftp.stat('moved').st_mtime
try: sftp.stat('missing')
except IOError as e: seen['missing'] = str(e)
try: sftp.mkdir('moved')
except IOError as e: seen['exists'] = str(e)
print(json.dumps(seen))
client.close()
`;

/** On a mounted file system: copies this repository's own kind of tree there and back, and what people do besides. */
const SHELL = `
cd "$1"
mkdir tree && cd tree
head -c 3000000 /dev/urandom > random
for n in 1 2 3; do mkdir -p "d $n/e"; cp random "d $n/e/file"; done
cd ..
tar -cf copy.tar tree
mkdir again && tar -xf copy.tar -C again
diff -r tree again/tree && echo same
find again -name file -o -name random | wc -l
printf 'hello' > text && printf ' world\\n' >> text && cat text
ln text hard && ln -s text soft && [ "$(cat soft)" = "$(cat hard)" ] && echo linked
rmdir again 2>/dev/null || echo refused
dd if=tree/random of=tree/random bs=1 seek=1000000 skip=5 count=10 conv=notrunc 2>/dev/null
cmp -s tree/random again/tree/random || echo changed
truncate -s 0 text; stat -c %s text
rm -r again text hard soft
`;
