import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';

const RESIDENT = fileURLToPath(new URL('resident.ts', import.meta.url));

/** A resident program of the given kind: its output so far, and how it ended. */
function run(t: ExecutionContext, kind: string) {
  const child = spawn(process.execPath, [RESIDENT, kind], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => {
    child.kill('SIGKILL');
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  return {
    child,
    output,
    said: async (what: string) => {
      while (!`${output.stdout}${output.stderr}`.includes(what))
        await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]);
    },
    status: once(child, 'close').then(([code]) => code as number | null),
  };
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  test(`${signal} stops the program in order, with status 0`, async (t) => {
    const resident = run(t, 'usual');
    await resident.said('started');

    resident.child.kill(signal);

    t.is(await resident.status, 0);
    t.is(resident.output.stdout, 'started\nstopped\n');
  });
}

test('a start that fails says so in one line, with status 1', async (t) => {
  const resident = run(t, 'cannot-start');

  t.is(await resident.status, 1);
  t.is(resident.output.stderr, 'resident: the port is taken\n');
});

test('warnings of Node are lines of the log like any other, and what is only deprecated is not told', async (t) => {
  const resident = run(t, 'is-warned');
  await resident.said('many listeners');

  resident.child.kill('SIGTERM');
  await resident.status;

  const lines = resident.output.stderr
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { level: string }).level);
  t.deepEqual(lines, ['warn', 'info']);
});

test('a stop that takes too long is cut off, with status 1', async (t) => {
  const resident = run(t, 'never-stops');
  await resident.said('started');

  resident.child.kill('SIGTERM');

  t.is(await resident.status, 1);
  t.regex(resident.output.stderr, /takes too long/u);
});

test('a second signal ends the program at once', async (t) => {
  const resident = run(t, 'never-stops');
  await resident.said('started');

  resident.child.kill('SIGINT');
  await resident.said('Stopping');
  resident.child.kill('SIGINT');

  t.is(await resident.status, 130);
  t.notRegex(resident.output.stderr, /takes too long/u);
});

test('a stop that fails is logged, with status 1', async (t) => {
  const resident = run(t, 'cannot-stop');
  await resident.said('started');

  resident.child.kill('SIGTERM');

  t.is(await resident.status, 1);
  t.regex(resident.output.stderr, /"message":"stuck"/u);
});

for (const kind of ['forgets-a-rejection', 'throws']) {
  test(`a program that ${kind.replaceAll('-', ' ')} has a bug: it is logged and ends with status 70`, async (t) => {
    const resident = run(t, kind);

    t.is(await resident.status, 70);
    t.regex(resident.output.stderr, /"level":"error".*"message":"a bug"/u);
  });
}
