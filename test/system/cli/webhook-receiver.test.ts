/**
 * The local receiver as a process of its own, against requests that the reference library of Standard Webhooks signed,
 * and against wrong ones.
 */
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { Webhook } from 'standardwebhooks';
import { createVerify } from '../../../api/client/webhooks.ts';
import { createSign } from '../../../transport/events/webhooks/signature.ts';
import { until } from '../../support/until.ts';
import { startEdge, type RunningProgram } from '../../support/edge-program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { refused } from './fixture.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const PLAIN_SECRET = 'a plain secret, with ünusual letters';
const EVENT = {
  specversion: '1.0',
  id: '7c7d0f5e-6d0e-4a2c-8b3b-0b7a3c0f6f11',
  source: 'x',
  type: 'edge.core.test',
  time: '2026-01-02T03:04:05.678Z',
  datacontenttype: 'application/json',
  corename: 'default',
  data: { message: 'ö' },
};
const BODY = JSON.stringify(EVENT);

/** Headers with both signatures, made without this project's code. */
function signed(
  body = BODY,
  {
    secret = SECRET,
    at = new Date(),
    id = EVENT.id,
  }: { readonly secret?: string; readonly at?: Date; readonly id?: string } = {},
): Record<string, string> {
  const reference = secret.startsWith('whsec_')
    ? new Webhook(secret)
    : new Webhook(Buffer.from(secret), { format: 'raw' });
  return {
    'X-Edge-Signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': reference.sign(id, at, body),
  };
}

/** Starts a receiver: itself, and where it listens. */
async function listening(t: ExecutionContext, ...args: string[]): Promise<{ running: RunningProgram; url: string }> {
  const running = startEdge(['webhook', 'listen', ...args], {});
  t.teardown(() => void running.process.kill('SIGKILL'));
  const said = await running.says('stderr', /listening on [^;,\s]+[;,\s]/u);
  return { running, url: /listening on (?<url>[^;,\s]+)/u.exec(said)?.groups?.['url'] ?? '' };
}

interface Answer {
  readonly status: number | undefined;
  readonly said: string;
}

/** Not fetch: that joins headers that are there twice. */
function post(
  url: string,
  headers: Record<string, string | string[]>,
  body: string | Buffer = BODY,
  method = 'POST',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, headers },
      (response) => void text(response).then((said) => resolve({ status: response.statusCode, said }), reject),
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

test('what the reference library signed is taken and shown, with an encoded secret, a plain one, and one from a file', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'secret'), `${SECRET}\n`);

  for (const [args, secret] of [
    [['--secret', SECRET], SECRET],
    [['--secret', PLAIN_SECRET], PLAIN_SECRET],
    [['--secret-file', join(directory, 'secret')], SECRET],
  ] as const) {
    const receiver = await listening(t, ...args);
    const answer = await post(`${receiver.url}any/path?at=all`, signed(BODY, { secret }));
    const { status, stdout, stderr } = await receiver.running.interrupt();

    t.deepEqual(answer, { status: 204, said: '' });
    t.deepEqual([status, stdout], [0, '2026-01-02T03:04:05.678Z  edge.core.test\n']);
    t.is(stderr, `edge: listening on ${receiver.url}; Ctrl-C ends\n`);
  }
});

test('the signatures that the service makes are those that the receiver takes, for secrets of every form', (t) => {
  for (const secret of [
    SECRET,
    PLAIN_SECRET,
    'x',
    'whsec_',
    'whsec_not base64',
    'whsec_AAAAA',
    'whsec_YWI',
    'whsec_YWI=',
  ]) {
    const body = Buffer.from(BODY);
    const { edge, standard } = createSign(secret)('id', 1_000, body);
    const headers = {
      'x-edge-signature': [edge],
      'webhook-id': ['id'],
      'webhook-timestamp': ['1000'],
      'webhook-signature': [standard],
    };

    t.deepEqual(createVerify(secret)(headers, body, 1_000_000), [], secret);
    t.is(createVerify(`${secret}x`)(headers, body, 1_000_000).length, 2, secret);
  }
});

test('a request with a wrong or missing signature is answered with 401 and the reason, and not shown', async (t) => {
  const receiver = await listening(t, '--secret', SECRET);
  const good = signed();
  const without = (name: string) => Object.fromEntries(Object.entries(signed()).filter(([key]) => key !== name));
  const at = (seconds: number) => signed(BODY, { at: new Date(Date.now() + seconds * 1_000) });
  const { 'X-Edge-Signature': ours = '', 'webhook-signature': standard = '' } = good;
  const wrong: readonly (readonly [what: RegExp, headers: Record<string, string | string[]>, body?: string])[] = [
    [/^X-Edge-Signature does not fit.*; webhook-signature does not fit/u, good, `${BODY} `],
    [/^X-Edge-Signature does not fit.*; webhook-signature does not fit/u, signed(BODY, { secret: 'whsec_b3RoZXI=' })],
    [/^webhook-timestamp is 3\d\d s old, more than 300/u, at(-301)],
    [/^webhook-timestamp is 3\d\d s ahead/u, at(390)],
    [/^X-Edge-Signature is missing$/u, without('X-Edge-Signature')],
    [/^webhook-id is missing$/u, without('webhook-id')],
    [/^webhook-timestamp is missing$/u, without('webhook-timestamp')],
    [/^webhook-signature is missing$/u, without('webhook-signature')],
    [
      /^X-Edge-Signature is missing; webhook-id is missing; webhook-timestamp is missing; webhook-signature is missing$/u,
      {},
    ],
    [/^X-Edge-Signature is there 2 times$/u, { ...good, 'X-Edge-Signature': [ours, ours] }],
    [/^webhook-id is there 2 times$/u, { ...good, 'webhook-id': [EVENT.id, 'other'] }],
    [/^webhook-signature does not fit/u, { ...good, 'webhook-id': 'other' }],
    [/^webhook-signature does not fit/u, { ...good, 'webhook-timestamp': String(Math.floor(Date.now() / 1_000) - 7) }],
    [/^webhook-signature does not fit/u, { ...good, 'webhook-signature': `v2,${standard.slice(3)}` }],
    [/^X-Edge-Signature does not fit/u, { ...good, 'X-Edge-Signature': ours.toUpperCase() }],
    [/^X-Edge-Signature does not fit/u, { ...good, 'X-Edge-Signature': 'sha256=' }],
  ];

  for (const [what, headers, body] of wrong) {
    const answer = await post(receiver.url, headers, body);
    t.is(answer.status, 401, String(what));
    t.regex(answer.said.trim(), what);
  }
  const { stdout, stderr } = await receiver.running.interrupt();

  t.is(stdout, '');
  const told = stderr.trim().split('\n').slice(1);
  t.is(told.length, wrong.length);
  for (const [index, [what]] of wrong.entries()) {
    t.regex(told[index] ?? '', /^edge: refused a request from 127\.0\.0\.1: /u);
    t.regex((told[index] ?? '').replace(/^edge: refused a request from 127\.0\.0\.1: /u, ''), what);
  }
});

test('one right signature among several is enough, and a clock may be wrong by five minutes', async (t) => {
  const receiver = await listening(t, '--secret', SECRET);
  const good = signed();

  for (const headers of [
    { ...good, 'webhook-signature': `v1a,x v1,wrong ${good['webhook-signature'] ?? ''}` },
    signed(BODY, { at: new Date(Date.now() - 270_000) }),
    signed(BODY, { at: new Date(Date.now() + 270_000) }),
  ])
    t.is((await post(receiver.url, headers)).status, 204);
  t.is((await receiver.running.interrupt()).stdout.split('\n').length, 4);
});

test('what is no event, no POST or too long is refused, and what is no HTTP does no harm', async (t) => {
  const receiver = await listening(t, '--secret', SECRET);
  const long = `"${'x'.repeat(1_048_576)}"`;

  t.is((await post(receiver.url, {}, '', 'GET')).status, 405);
  t.is((await post(receiver.url, signed(long), long)).status, 413);
  t.is((await post(receiver.url, { ...signed(long), 'transfer-encoding': 'chunked' }, long)).status, 413);
  for (const body of ['', 'null', '[]', '{"type":"x"}', '{', '{"type":1,"time":2,"data":{}}'])
    t.is((await post(receiver.url, signed(body), body)).status, 400, body);
  const { port } = new URL(receiver.url);
  t.regex(await text(connect(Number(port), '127.0.0.1').end('no HTTP\r\n\r\n')), /^HTTP\/1.1 400 /u);
  t.is((await post(receiver.url, signed())).status, 204);

  const { status, stdout, stderr } = await receiver.running.interrupt();
  t.is(status, 0);
  t.is(stdout.split('\n').length, 2);
  t.regex(stderr, /refused a request from 127\.0\.0\.1: its body is longer than 1048576 bytes\n/u);
  t.regex(stderr, /it is signed, but its body is no event\n/u);
});

test('events are JSON lines when asked for, and answered as asked for', async (t) => {
  for (const args of [['--json'], ['-o', 'json']]) {
    const receiver = await listening(t, '--secret', SECRET, '--status', '503', ...args);
    const spread = JSON.stringify(EVENT, null, 2);
    const answer = await post(receiver.url, signed(spread), spread);

    t.is(answer.status, 503);
    t.is((await receiver.running.interrupt()).stdout, `${BODY}\n`);
  }
});

for (const when of ['before it says anything', 'while it listens'] as const)
  test(`a receiver whose reader has gone ${when} ends, and answers nothing as received that it could not show`, async (t) => {
    const running = startEdge(['webhook', 'listen', '--secret', SECRET], {});
    t.teardown(() => void running.process.kill('SIGKILL'));
    if (when === 'before it says anything') running.process.stdout.destroy();
    const url = /listening on (?<url>[^;,\s]+);/u.exec(await running.says('stderr', /Ctrl-C/u))?.groups?.['url'] ?? '';
    running.process.stdout.destroy();

    const answer = await until('the answer after the reader has gone', async () => {
      const { status } = await post(url, signed()).catch(() => ({ status: 0 }));
      return status === 204 ? null : status;
    });

    t.true([0, 503].includes(answer ?? -1));
    const { status, stderr } = await running.ended;
    t.is(status, 0, stderr);
    t.regex(stderr, /^edge: listening on \S+; Ctrl-C ends\n(?:edge: refused a request from [^\n]*\n)*$/u);
  });

test('what a receiver cannot do is one line on stderr, and status 2 or 1', async (t) => {
  const receiver = await listening(t, '--secret', SECRET);
  const { port } = new URL(receiver.url);
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'empty'), '\n');
  const cases: readonly (readonly [number, RegExp, readonly string[]])[] = [
    [2, /--secret-file FILE or --secret SECRET; or --on/u, []],
    [2, /--secret is empty/u, ['--secret', '']],
    [2, /cannot be used with option '--secret-file/u, ['--secret', 'x', '--secret-file', 'y']],
    [2, /nosuch cannot be read \(ENOENT\)/u, ['--secret-file', join(directory, 'nosuch')]],
    [2, /cannot be read \(EISDIR\)/u, ['--secret-file', directory]],
    [2, /empty is empty/u, ['--secret-file', join(directory, 'empty')]],
    [2, /a port from 0 to 65535/u, ['--secret', 'x', '--port', '65536']],
    [2, /a status from 200 to 599/u, ['--secret', 'x', '--status', '100']],
    [2, /cannot listen on 192\.0\.2\.1 \(EADDRNOTAVAIL\)/u, ['--secret', 'x', '--host', '192.0.2.1']],
    [2, /nobody can send to 0\.0\.0\.0/u, ['--on', 'all', '--host', '0.0.0.0']],
    [1, /another program listens there/u, ['--secret', 'x', '--port', port]],
    [1, /cannot reach http:\/\/127\.0\.0\.1:9 /u, ['--on', 'all', '--url', 'http://127.0.0.1:9']],
  ];
  await Promise.all(
    cases.map(async ([status, said, args]) =>
      refused(t, await startEdge(['webhook', 'listen', ...args], {}).ended, status, said, args.join(' ')),
    ),
  );
});
