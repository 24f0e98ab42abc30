/** How a program that stays ends: by signals, by a start or a stop that fails, and by a bug. */
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { PRINT_LENGTH_MAX } from '../../../cli/containment.ts';
import { startNode, type RunningProgram } from '../../support/edge-program.ts';

const RESIDENT = fileURLToPath(new URL('resident.ts', import.meta.url));

/** A resident program of the given kind, and how long its stop may take, in ms. It ends with the test. */
function run(t: ExecutionContext, ...words: string[]): RunningProgram {
  const running = startNode([RESIDENT, ...words]);
  t.teardown(() => void running.process.kill('SIGKILL'));
  return running;
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  test(`${signal} stops the program in order, with status 0`, async (t) => {
    const resident = run(t, 'usual');
    await resident.says();

    resident.process.kill(signal);

    t.is((await resident.ended).status, 0);
    t.is(resident.stdout, 'started\nstopped\n');
  });
}

test('a start that fails says so in one line, with status 1', async (t) => {
  const resident = run(t, 'cannot-start');

  t.is((await resident.ended).status, 1);
  t.is(resident.stderr, 'resident: the port is taken\n');
});

test('warnings of Node are lines of the log like any other, and what is only deprecated is not told', async (t) => {
  const resident = run(t, 'is-warned');
  await resident.says('stderr', /many listeners/u);

  resident.process.kill('SIGTERM');
  await resident.ended;

  const lines = resident.stderr
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { level: string }).level);
  t.deepEqual(lines, ['warn', 'info']);
});

test('what libraries print is a line of the log, cut short, and nothing on stdout', async (t) => {
  const resident = run(t, 'prints');
  await resident.says('stderr', /told/u);

  resident.process.kill('SIGTERM');
  await resident.ended;

  const lines = resident.stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { level: string; text?: string });
  t.deepEqual(
    lines.map(({ level, text = null }) => ({ level, text })),
    [
      { level: 'warn', text: `told\u0007 ${'x'.repeat(PRINT_LENGTH_MAX - 6)}` },
      { level: 'info', text: null },
    ],
  );
  t.is(resident.stdout, 'started\nstopped\n');
});

test('a stop that takes too long is cut off, with status 1', async (t) => {
  const resident = run(t, 'never-stops');
  await resident.says();

  resident.process.kill('SIGTERM');

  t.is((await resident.ended).status, 1);
  t.regex(resident.stderr, /takes too long/u);
});

test('an admin that starts anew takes the time that its stop needs, whatever that waits for', async (t) => {
  const resident = run(t, 'is-renewed');

  await resident.says('stdout', /renewed/u);
  resident.process.kill('SIGTERM');

  t.is((await resident.ended).status, 0);
});

test('a second signal ends the program at once', async (t) => {
  const resident = run(t, 'never-stops', '600000');
  await resident.says();

  resident.process.kill('SIGINT');
  await resident.says('stderr', /Stopping/u);
  resident.process.kill('SIGINT');

  t.is((await resident.ended).status, 130);
  t.notRegex(resident.stderr, /takes too long/u);
});

test('a stop that fails is logged, with status 1', async (t) => {
  const resident = run(t, 'cannot-stop');
  await resident.says();

  resident.process.kill('SIGTERM');

  t.is((await resident.ended).status, 1);
  t.regex(resident.stderr, /"message":"stuck"/u);
});

for (const kind of ['forgets-a-rejection', 'throws']) {
  test(`a program that ${kind.replaceAll('-', ' ')} has a bug: it is logged and ends with status 70`, async (t) => {
    const resident = run(t, kind);

    t.is((await resident.ended).status, 70);
    t.regex(resident.stderr, /"level":"error".*"message":"a bug"/u);
  });
}
