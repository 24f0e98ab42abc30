import { execFile } from 'node:child_process';
import test from 'ava';
import { execute, type ExecuteOptions } from '../../../../transport/net/execute.ts';

/** More than the kernel takes in one word. Source: execve(2), MAX_ARG_STRLEN. */
const LONG = 'x'.repeat(200_000);

/** What the callback is told: the code, and both outputs. */
function told(program: string, words: readonly string[], options: ExecuteOptions = {}): Promise<readonly unknown[]> {
  return new Promise((resolve) => {
    let isBack = false;
    execute(program, words, options, (error, output, said) => resolve([isBack, error?.code ?? null, output, said]));
    isBack = true;
  });
}

test('a program is told of with both outputs and its status', async (t) => {
  t.deepEqual(await told('/bin/sh', ['-c', 'echo out; echo said >&2']), [true, null, 'out\n', 'said\n']);
  t.deepEqual(await told('/bin/sh', ['-c', 'echo out; exit 3']), [true, 3, 'out\n', '']);
});

test('what the system or Node refuses is told as anything else is, later, and never thrown', async (t) => {
  t.throws(() => execFile('/bin/true', [LONG]), { code: 'E2BIG' }); // as Node does it

  t.deepEqual(await told('/nowhere/program', []), [true, 'ENOENT', '', '']);
  t.deepEqual(await told('/bin/true', [LONG]), [true, 'E2BIG', '', '']);
  t.deepEqual(await told('/bin/true', [], { env: { LONG } }), [true, 'E2BIG', '', '']);
  t.deepEqual(await told('/bin/true', ['\0']), [true, 'ERR_INVALID_ARG_VALUE', '', '']);
});
