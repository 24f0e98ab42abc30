/** The program as the published agent has it: a text within one file, built as deploy/build.ts does it. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { build, type BuildOptions } from 'esbuild';
import { sftpCommand } from '../../../../agent/access/sftp/command.ts';
import { become } from '../../../../agent/access/sftp/privileges.ts';
import { ROOT } from '../../../support/source/source-text.ts';
import { GREETING } from '../../../support/agent/sftp-process.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Bytes that one argument of a program may have. Source: Linux, MAX_ARG_STRLEN. */
const ARGUMENT_BYTES_MAX = 131_072;

test('the text of the program is a program, and short enough to hand over', async (t) => {
  const directory = temporaryDirectory(t, 0o777);
  const options: BuildOptions = {
    absWorkingDir: ROOT,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    minify: true,
    logLevel: 'silent',
  };
  const program = await build({ ...options, entryPoints: ['agent/access/sftp/program.ts'], write: false });
  writeFileSync(
    join(directory, 'entry.ts'),
    `import { sftpCommand } from '${ROOT}/agent/access/sftp/command.ts';\nprocess.stdout.write(JSON.stringify(sftpCommand(null)));\n`,
  );
  await build({
    ...options,
    entryPoints: [join(directory, 'entry.ts')],
    outfile: join(directory, 'entry.cjs'),
    define: { SFTP_PROGRAM: JSON.stringify(program.outputFiles?.[0]?.text), 'import.meta.dirname': '""' },
  });

  const [file = '', ...words] = JSON.parse(
    execFileSync(process.execPath, [join(directory, 'entry.cjs')], { encoding: 'utf8' }),
  ) as string[];
  t.is(file, process.execPath);
  t.is(words[0], '-e');
  t.true((words[1] ?? '').length < ARGUMENT_BYTES_MAX / 2);
  const server = spawn(file, words, {
    cwd: directory,
    env: { NODE_OPTIONS: '--no-experimental-strip-types' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  server.stdin.write(GREETING);
  const [version] = (await once(server.stdout, 'data')) as [Buffer];
  t.deepEqual([version[4], version.readUInt32BE(5)], [2, 3]);
  t.is(
    execFileSync('ps', ['-o', 'args=', '-p', String(server.pid)], { encoding: 'utf8' }).trim(),
    'edge-agent sftp-server',
  );
  server.stdin.end();
  t.deepEqual(await once(server, 'exit'), [0, null]);
});

test('from the source it is the file, and an account is its last word', (t) => {
  t.deepEqual(sftpCommand(null), [process.execPath, join(ROOT, 'agent/access/sftp/program.ts')]);
  t.deepEqual(sftpCommand({ name: 'alice', uid: 1_000, gid: 100 }).slice(2), ['1000:100:alice']);
});

test('without an account nothing is changed', (t) => {
  const before = [process.getuid?.(), process.getgid?.(), process.getgroups?.()];

  become('');
  become('/some/program.ts');

  t.deepEqual([process.getuid?.(), process.getgid?.(), process.getgroups?.()], before);
});

test('stdin or stdout that are neither pipes nor sockets are refused in one line', async (t) => {
  const [file, ...words] = sftpCommand(null);
  const server = spawn(file, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  server.stderr.on('data', (piece: Buffer) => {
    said += piece.toString('utf8');
  });

  t.deepEqual(await once(server, 'close'), [1, null]);
  t.is(said, 'sftp-server: stdin is neither a pipe nor a socket: this program is started by a server of SSH\n');
});
