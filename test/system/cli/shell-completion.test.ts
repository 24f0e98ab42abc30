/**
 * The scripts of `edge completion` in the shells themselves, at a terminal: what is typed there, TAB, and what the
 * shell makes of it. `edge` is a program that offers what a test says, and tells with which words it was called.
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from '@lydell/node-pty';
import type { ExecutionContext } from 'ava';
import { COMPLETION_SCRIPTS } from '../../../cli/commands/completion.ts';
import { peerPath } from '../../support/run/peers.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('zsh', 'fish');

type Shell = keyof typeof COMPLETION_SCRIPTS;
const SHELLS = Object.keys(COMPLETION_SCRIPTS) as Shell[];

/** What is offered, by what was typed: the words before the cursor, the last of them begun. */
const OFFERED = {
  'node g': ['get\\tshow a node'],
  'run -n we': ['web-1', 'web-22'],
  'run -n web-1,we': ['web-1,web-22'],
  '--output=js': ['--output=json'],
  '--output=': ['--output=json'],
  'cp we': ['web-1:'],
  'cp ada@we': ['ada@web-1:'],
  'ssh -v ada@we': ['ada@web-1'],
  'node get $(': ['$(touch broken)'],
  'push ./no': [],
} as const;

/** A stub, which also runs what the shell has in the end. */
const STUB = `#!/bin/sh
case $1 in
__complete | __describe)
  kind=$1
  shift
  typed=$*
  case $typed in
${Object.entries(OFFERED)
  .map(
    ([typed, words]) =>
      `  '${typed}') ${words.length === 0 ? ':' : `printf '%b\\n' ${words.map((word) => `'${word}'`).join(' ')}`} ;;`,
  )
  .join('\n')}
  *) echo "unexpected<$typed>" ;;
  esac | if [ "$kind" = __complete ]; then cut -f 1; else cat; fi
  ;;
*)
  printf 'RAN'
  for word; do printf '<%s>' "$word"; done
  printf 'END\\n'
  ;;
esac
`;

for (const shell of SHELLS) {
  test(`${shell} completes commands, and goes on behind them`, async (t) => {
    t.is(await completed(t, shell, 'edge node g\tx'), '<node><get><x>');
  });

  test(`${shell} completes as far as names agree, and behind a comma`, async (t) => {
    t.is(await completed(t, shell, 'edge run -n we\t1'), '<run><-n><web-1>');
    t.is(await completed(t, shell, 'edge run -n web-1,we\tx'), '<run><-n><web-1,web-22><x>');
  });

  test(`${shell} completes values behind an equals sign`, async (t) => {
    t.is(await completed(t, shell, 'edge --output=js\tx'), '<--output=json><x>');
    t.is(await completed(t, shell, 'edge --output=\tx'), '<--output=json><x>');
  });

  test(`${shell} completes nodes behind a user, and a path behind their colon`, async (t) => {
    t.is(await completed(t, shell, 'edge cp we\t/etc'), '<cp><web-1:/etc>');
    t.is(await completed(t, shell, 'edge cp ada@we\t/etc'), '<cp><ada@web-1:/etc>');
    t.is(await completed(t, shell, 'edge ssh -v ada@we\tx'), '<ssh><-v><ada@web-1><x>');
  });

  test(`${shell} offers files where edge offers nothing`, async (t) => {
    t.is(await completed(t, shell, 'edge push ./no\tx'), '<push><./notes.txt><x>');
  });
}

test('zsh completes by a file of its path of functions at the first time', async (t) => {
  t.is(await completed(t, 'zsh', 'edge node g\tx', { isInstalled: true }), '<node><get><x>');
});

/** What `edge` is called with when this was typed into the shell, with a pause for each completion. */
async function completed(
  t: ExecutionContext,
  shell: Shell,
  typed: string,
  { isInstalled = false } = {},
): Promise<string> {
  const home = temporaryDirectory(t);
  const bin = join(home, 'bin');
  mkdirSync(bin);
  mkdirSync(join(home, 'functions'));
  writeFileSync(join(bin, 'edge'), STUB);
  chmodSync(join(bin, 'edge'), 0o755);
  writeFileSync(join(home, 'notes.txt'), '');
  writeFileSync(join(home, 'script'), COMPLETION_SCRIPTS[shell]);
  writeFileSync(join(home, 'functions/_edge'), COMPLETION_SCRIPTS.zsh);
  const { words, setup } = started(shell, home, isInstalled);
  const terminal = spawn(await programOf(shell), words, {
    name: 'xterm',
    cols: 200,
    rows: 40,
    cwd: home,
    env: {
      PATH: `${bin}:/usr/bin:/bin`,
      HOME: home,
      TERM: 'xterm',
      LANG: 'C.UTF-8',
      XDG_CONFIG_HOME: home,
      XDG_DATA_HOME: home,
    },
  });
  t.teardown(() => terminal.kill('SIGKILL'));
  let shown = '';
  terminal.onData((text) => {
    shown += text;
  });
  terminal.write(`${setup}; echo REA''DY\r`);
  await until('the shell', () => shown.includes('READY'));
  const [before = '', after = ''] = typed.split('\t');
  terminal.write(`${before}\t`);
  // A shell asks its programs while it completes, and takes what is typed meanwhile only behind it.
  terminal.write(`${after}\r`);
  await until('what was run', () => /RAN.*END/u.test(shown));
  return /RAN(?<ran>.*)END/u.exec(shown)?.groups?.['ran'] ?? '';
}

/** How a shell is started without what its user set up, and what it is told first. */
function started(shell: Shell, home: string, isInstalled: boolean) {
  const load = `. ${join(home, 'script')}`;
  const functions = `fpath=(${join(home, 'functions')} $fpath); autoload -U compinit; compinit -u -D`;
  const inZsh = isInstalled ? functions : `${functions}; unset '_comps[edge]'; unfunction _edge 2>/dev/null; ${load}`;
  const ways: Readonly<Record<Shell, { readonly words: string[]; readonly setup: string }>> = {
    bash: { words: ['--norc', '--noprofile', '-i'], setup: load },
    zsh: { words: ['-f', '-i'], setup: inZsh },
    fish: { words: ['--private', '-i'], setup: load },
  };
  return ways[shell];
}

function programOf(shell: Shell): Promise<string> {
  return shell === 'bash' ? Promise.resolve('/bin/bash') : peerPath(shell);
}
