import test from 'ava';
import { createBugTeller, createLog } from '../../../agent/log.ts';

test('lines are JSON with level, time, name, fields and message; below the level nothing is written', (t) => {
  const lines: string[] = [];
  const log = createLog('warn', false, (line) => lines.push(line));

  log.info({}, 'hidden');
  log.warn({ admin: 'http://a.test', error: new Error('why') }, 'seen');

  t.is(lines.length, 1);
  t.like(JSON.parse(lines[0] ?? ''), {
    level: 'warn',
    name: 'edge-agent',
    admin: 'http://a.test',
    error: 'why',
    msg: 'seen',
  });
});

test('on a terminal a line is for people', (t) => {
  const lines: string[] = [];

  createLog('info', true, (line) => lines.push(line)).info({ admin: 'http://a.test' }, 'Connected');

  t.regex(lines[0] ?? '', /^\d\d:\d\d:\d\d info {2}Connected {2}admin=http:\/\/a\.test\n$/);
});

test('a field is cut where it gets long, and silent is silent', (t) => {
  const lines: string[] = [];
  const write = (line: string) => lines.push(line);

  createLog('debug', false, write).debug({ long: 'y'.repeat(100_000) }, 'x');
  createLog('silent', false, write).error({}, 'x');

  t.is(lines.length, 1);
  t.true((lines[0] ?? '').length < 2_000);
});

test('what others say cannot move the cursor of a terminal, start a line of its own or hide one', (t) => {
  const lines: string[] = [];
  const evil = 'x\r\n12:00:00 error  forged\u001b[2J\u009b1A\u2028\u202ey';

  createLog('info', true, (line) => lines.push(line)).info({ reason: evil }, `Said: ${evil}`);
  createLog('info', false, (line) => lines.push(line)).info({ reason: evil }, 'Said');

  // eslint-disable-next-line no-control-regex -- what must not be there
  t.true(lines.every((line) => !/[\u0000-\u001f\u2028\u202e]/u.test(line.slice(0, -1)) || line.startsWith('{')));
  t.true(lines.every((line) => line.indexOf('\n') === line.length - 1 && !line.includes('\u001b')));
  t.is((JSON.parse(lines[1] ?? '') as { reason: string }).reason, evil);
});

test('what nobody caught is told with where it is, however long its message is and whatever it is', (t) => {
  const lines: string[] = [];
  const tell = createBugTeller(
    createLog('info', false, (line) => lines.push(line)),
    'info',
  );
  const cycle: Record<string, unknown> = { big: 1n };
  cycle['self'] = cycle;

  tell(new Error('a long word\n'.repeat(1_000)), 'x');
  for (const thrown of [cycle, 1n, Symbol('s'), undefined, 'text']) tell(thrown, 'x');

  const [long, ...others] = lines.map((line) => JSON.parse(line) as { readonly error: string; readonly stack: string });
  t.regex(long?.stack ?? '', /^at .*log\.test\.ts:\d+/u);
  t.deepEqual(
    others.map(({ error, stack }) => [error, stack]),
    [
      ['<ref *1> { big: 1n, self: [Circular *1] }', ''],
      ['1n', ''],
      ['Symbol(s)', ''],
      ['undefined', ''],
      ['text', ''],
    ],
  );
});

test('where the log is silent, what nobody caught is told as Node does it, without moving a cursor', (t) => {
  const told: string[] = [];
  const tell = createBugTeller(createLog('silent', false), 'silent', (text) => told.push(text));

  tell(new Error('a bug\u001b[2J'), 'x');
  tell(1n, 'x');

  t.regex(told[0] ?? '', /^Error: a bug\ufffd\[2J\n {4}at .*log\.test\.ts/u);
  t.is(told[1], '1n\n');
});
