/** Signatures of webhooks, held against the reference library and against openssl. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { createSign } from '../../../transport/events/webhooks/signature.ts';
import {
  DELIVERY,
  ENVELOPE,
  EVENT_ID,
  webhookSender,
  receiver,
  webhookTo,
} from '../../support/webhooks/webhook-receivers.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const run = promisify(execFile);

const ENCODED = `whsec_${Buffer.from('24 bytes, or a few more, of key').toString('base64')}`;

const raw = (secret: string) => new Webhook(new TextEncoder().encode(secret), { format: 'raw' });

/**
 * How a receiver makes the verifier of the reference library: https://github.com/standard-webhooks/standard-webhooks.
 */
const VERIFIERS: readonly (readonly [name: string, secret: string, verifier: (secret: string) => Webhook])[] = [
  ['whsec_ secret', ENCODED, (secret) => new Webhook(secret)],
  ['whsec_ secret without padding', ENCODED.replace(/=+$/u, ''), (secret) => new Webhook(secret)],
  ['plain secret', 'a plain secret', raw],
  ['secret of many scripts', 'Schlüssel 鍵 🔑', raw],
  ['secret that only begins with whsec_', 'whsec_not base64!', raw],
];

for (const [name, secret, verifier] of VERIFIERS) {
  test(`the library of Standard Webhooks verifies a delivery signed with a ${name}`, async (t) => {
    const there = await receiver(t, (_request, response) => response.end());

    await webhookSender(t, { nowMs: Date.now }).send(webhookTo(there.url, { secret }), DELIVERY);

    const [got] = there.got;
    const headers = got?.headers as Record<string, string>;
    const webhook = verifier(secret);
    t.deepEqual(webhook.verify(got?.body ?? '', headers), JSON.parse(ENVELOPE));
    t.throws(() => webhook.verify(ENVELOPE.replace('1.0', '1.1'), headers), { message: 'No matching signature found' });
    t.throws(() => webhook.verify(ENVELOPE, { ...headers, 'webhook-id': 'another' }), {
      message: 'No matching signature found',
    });
  });

  test(`openssl computes the same signature of the body with a ${name}`, async (t) => {
    const directory = temporaryDirectory(t);
    const file = join(directory, 'body');
    await writeFile(file, ENVELOPE);

    const key = `hexkey:${Buffer.from(secret).toString('hex')}`;
    const { stdout } = await run('openssl', [...'dgst -sha256 -mac HMAC -macopt'.split(' '), key, '-r', file]);

    t.is(createSign(secret)(EVENT_ID, 0, Buffer.from(ENVELOPE)).edge, `sha256=${stdout.slice(0, 64)}`);
  });
}

test('each try has its own time and signature, and the same id', async (t) => {
  const there = await receiver(t, (_request, response) => response.writeHead(500).end());
  let nowMs = 1_800_000_000_000;
  const sender = webhookSender(t, { nowMs: () => nowMs });

  await sender.send(webhookTo(there.url), DELIVERY);
  nowMs += 1_999;
  await sender.send(webhookTo(there.url), { ...DELIVERY, attempts: 1 });

  const [first, second] = there.got.map(({ headers }) => headers);
  t.deepEqual([first?.['webhook-id'], second?.['webhook-id']], [EVENT_ID, EVENT_ID]);
  t.deepEqual([first?.['webhook-timestamp'], second?.['webhook-timestamp']], ['1800000000', '1800000001']);
  t.not(first?.['webhook-signature'], second?.['webhook-signature']);
  t.is(first?.['x-edge-signature'], second?.['x-edge-signature']);
});
