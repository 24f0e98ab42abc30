/**
 * Servers behind the HTTP proxy that answer with anything: what they send is passed on or refused, and ends nothing but
 * their own exchange.
 */
import test from 'ava';
import { forEachAnswer, hostileAnswers, openHostileTarget } from '../../../support/net/hostile-answers.ts';
import { until } from '../../../support/until.ts';
import { rest } from '../../../support/net/stream-pairs.ts';
import { answerTo, basic, openProxies, rawClient, statusOf } from '../../../support/net/proxies-fixture.ts';

/** Exchanges at a time. */
const AT_ONCE = 50;

test('a thousand hostile answers end their own exchanges, and the next client is served', async (t) => {
  const answers = hostileAnswers();
  const port = await openHostileTarget(t, answers);
  const proxy = await openProxies(t);
  const request = (path: string): string =>
    `GET http://127.0.0.1:${port}/${path} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${basic('_')}\r\nConnection: close\r\n\r\n`;
  const heard: string[] = [];

  await forEachAnswer(answers, AT_ONCE, async (index) => {
    const client = rawClient(t, proxy.httpPort);
    client.write(request(String(index)));
    heard[index] = (await rest(client)).bytes.toString('latin1');
    client.destroy();
  });

  t.is(heard.length, answers.length);
  // eslint-disable-next-line no-control-regex -- none of these may be in a status line
  t.deepEqual(
    heard.filter((answer) => answer !== '' && !/^HTTP\/1\.1 \d{3} [\t\u0020-\u007e\u0080-\u00ff]*\r\n/u.test(answer)),
    [],
  );
  t.deepEqual(
    proxy.log.lines.filter(({ level }) => level === 'warn' || level === 'error'),
    [],
    'each was foreseen',
  );
  t.true((await answerTo(t, proxy.httpPort, request('well'))).endsWith('well'));
  await until('all are gone', () => proxy.proxies.http.connections === 0);
});

test('a reason phrase with a control character is passed on without it', async (t) => {
  const port = await openHostileTarget(t, [
    { bytes: Buffer.from('HTTP/1.1 201 Cre\u0001ated\r\nContent-Length: 2\r\n\r\nok', 'latin1'), isReset: false },
  ]);
  const proxy = await openProxies(t);

  const answer = await answerTo(
    t,
    proxy.httpPort,
    `GET http://127.0.0.1:${port}/0 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${basic('_')}\r\nConnection: close\r\n\r\n`,
  );

  t.is(statusOf(answer), 201);
  t.true(answer.startsWith('HTTP/1.1 201 Cre ated\r\n'));
  t.true(answer.endsWith('ok'));
});

test('a 204 with a body is passed on without it, and the client is not reset', async (t) => {
  const port = await openHostileTarget(t, [
    { bytes: Buffer.from('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello', 'latin1'), isReset: false },
  ]);
  const proxy = await openProxies(t);
  const client = rawClient(t, proxy.httpPort);
  client.write(
    `GET http://127.0.0.1:${port}/0 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${basic('_')}\r\nConnection: close\r\n\r\n`,
  );

  const { bytes, isWhole } = await rest(client);

  t.true(isWhole);
  t.regex(
    bytes.toString('latin1'),
    /^HTTP\/1\.1 204 No Content\r\nVia: 1\.1 edge-[0-9a-f]+\r\nConnection: close\r\n\r\n$/u,
  );
});
