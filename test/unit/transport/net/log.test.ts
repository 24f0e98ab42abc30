import test from 'ava';
import type { LogLevel } from '../../../../transport/net/log.ts';
import { createLog } from '../../../../transport/net/pino-log.ts';

/** A log and the lines that it has written, parsed. */
function logTo(level: LogLevel = 'debug') {
  const written: string[] = [];
  const log = createLog('program', level, {
    write: (line) => {
      written.push(line);
    },
  });
  return {
    log,
    lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>),
    text: () => written.join(''),
  };
}

test('a line is one JSON object with level, time, name, fields and message', (t) => {
  const { log, lines } = logTo();

  log.warn({ node_id: 'n', count: 2n, at: new Date(0), blob: new Uint8Array(3) }, 'late\nreport');

  t.like(lines()[0], {
    level: 'warn',
    name: 'program',
    node_id: 'n',
    count: '2',
    at: '1970-01-01T00:00:00.000Z',
    blob: '[3 bytes]',
    msg: 'late\nreport',
  });
  t.regex(String(lines()[0]?.time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/u);
});

test('secrets are blanked by the names of their fields, at any depth', (t) => {
  const { log, text } = logTo();
  const secrets = {
    authorization: 'CANARY',
    'Proxy-Authorization': 'CANARY',
    api_token: 'CANARY',
    MASTER_KEY: 'CANARY',
    password: ['CANARY'],
    headers: { 'x-mine': 'CANARY' },
  };

  log.info({ ...secrets, request: { body: 'CANARY', list: [{ deep: secrets }] } }, 'request');
  log.error(
    {
      error: new Error('it broke', {
        cause: Object.assign(new Error('below'), { detail: 'Key (token)=(CANARY)', parameters: ['CANARY'] }),
      }),
    },
    'query',
  );

  t.notRegex(text(), /CANARY/u);
  t.regex(text(), /it broke.*below/u);
});

test('the credentials of URLs are blanked in texts and errors', (t) => {
  const { log, lines, text } = logTo();

  log.error(
    {
      url: 'postgresql://me:CANARY@db/edge',
      broker: 'amqp://me:p@CANARY@host/vhost',
      error: new Error('cannot reach postgresql://me:CANARY@db/edge'),
    },
    'database',
  );

  t.notRegex(text(), /CANARY/u);
  t.is(lines()[0]?.url, 'postgresql://***@db/edge');
  t.is(lines()[0]?.['broker'], 'amqp://***@host/vhost');
});

test('what is logged is bounded, and a circle is no trouble', (t) => {
  const { log, lines, text } = logTo();
  const circle: Record<string, unknown> = {
    long: 'x'.repeat(100_000),
    many: Array.from({ length: 10_000 }, (_, i) => i),
  };
  circle.self = circle;

  log.info(circle, 'much');

  t.true(text().length < 50_000);
  t.is((lines()[0]?.many as number[] | undefined)?.length, 100);
});

test('lines below the level are not written', (t) => {
  const { log, lines } = logTo('warn');

  log.debug({}, 'a');
  log.info({}, 'b');
  log.warn({}, 'c');
  log.error({}, 'd');

  t.deepEqual(
    lines().map((line) => line.msg),
    ['c', 'd'],
  );
});

test('an error whose parts are no texts is a line, whatever they are', (t) => {
  const { log, lines } = logTo();
  const parts = { name: ['X', 'Y'], message: { toString: 1, text: '//me:CANARY@db' }, code: Symbol.iterator };

  log.warn({ error: Object.assign(new Error('x'), parts) }, 'refused');

  t.deepEqual(lines()[0]?.['error'], {
    type: ['X', 'Y'],
    message: { toString: 1, text: '//***@db' },
    stack: '[no stack: TypeError: Cannot convert object to primitive value]',
  });
});
