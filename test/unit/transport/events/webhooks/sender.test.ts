import { createHmac } from 'node:crypto';
import test from 'ava';
import * as fc from 'fast-check';
import { headerProblem } from '../../../../../actors/webhook/headers.ts';
import {
  ENVELOPE,
  EVENT_ID,
  NOW_MS,
  SECRET,
  DELIVERY,
  webhookSender,
  receiver,
  webhookTo,
} from '../../../../support/webhooks/webhook-receivers.ts';

test("a delivery is a POST of the exact bytes of the envelope, with our headers first and the webhook's own behind them", async (t) => {
  const there = await receiver(t, (_request, response) => response.writeHead(200).end('thank you'));
  const sender = webhookSender(t);

  const attempt = await sender.send(
    webhookTo(there.url, { headers: { 'X-Api-Key': 'k-1', Authorization: 'Bearer 2' } }),
    DELIVERY,
  );

  t.like(attempt, { type: 'answered', atMs: NOW_MS, statusCode: 200, retryAfterMs: null, answer: 'thank you' });
  const [got] = there.got;
  t.is(got?.method, 'POST');
  t.is(got?.path, '/hook?of=edge');
  t.deepEqual(got?.body, Buffer.from(ENVELOPE));
  const timestamp = String(Math.floor(NOW_MS / 1_000));
  t.deepEqual(got?.rawHeaders, [
    'host',
    `127.0.0.1:${there.port}`,
    'connection',
    'keep-alive',
    'content-type',
    'application/cloudevents+json',
    'user-agent',
    'edge-fleet-control/1.2.3',
    'x-edge-signature',
    `sha256=${createHmac('sha256', SECRET).update(ENVELOPE).digest('hex')}`,
    'webhook-id',
    EVENT_ID,
    'webhook-timestamp',
    timestamp,
    'webhook-signature',
    `v1,${createHmac('sha256', SECRET).update(`${EVENT_ID}.${timestamp}.${ENVELOPE}`).digest('base64')}`,
    'X-Api-Key',
    'k-1',
    'Authorization',
    'Bearer 2',
    'content-length',
    String(Buffer.byteLength(ENVELOPE)),
  ]);
});

test('each header that a webhook may have arrives as it was given', async (t) => {
  const there = await receiver(t, (_request, response) => response.end());
  const sender = webhookSender(t);
  const token = fc.string({
    unit: fc.constantFrom(
      '!',
      '#',
      '$',
      '%',
      '&',
      "'",
      '*',
      '+',
      '-',
      '.',
      '^',
      '_',
      '`',
      '|',
      '~',
      '0',
      '9',
      'a',
      'z',
      'A',
      'Z',
    ),
    minLength: 1,
    maxLength: 12,
  });
  const pairs = fc.dictionary(
    fc.oneof(token, fc.constantFrom('__proto__', 'constructor', 'Cookie', 'Set-Cookie', 'Authorization')),
    fc.string({ maxLength: 20 }),
    { maxKeys: 6 },
  );
  let count = 0;

  await fc.assert(
    fc.asyncProperty(pairs, async (given) => {
      const headers = Object.fromEntries(
        Object.entries(given).filter(([name, value]) => headerProblem(name, value) === null),
      );
      count += 1;
      const attempt = await sender.send(webhookTo(there.url, { headers, id: `w${count}` }), DELIVERY);
      const raw = there.got.at(-1)?.rawHeaders ?? [];

      t.like(attempt, { statusCode: 200 });
      t.deepEqual(raw.slice(raw.indexOf('webhook-signature') + 2, -2), Object.entries(headers).flat());
    }),
    { numRuns: 60 },
  );
});
