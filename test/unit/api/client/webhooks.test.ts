/** A delivery is believed under both of its signatures, in whatever form its headers come. */
import test from 'ava';
import { AGE_SECONDS_MAX, verifyDelivery } from '../../../../api/client/webhooks.ts';
import { createSign } from '../../../../transport/events/webhooks/signature.ts';

const NOW_MS = 1_800_000_000_500;
const EVENT = { id: '7c7d0f5e-6d0e-4a2c-8b3b-0b7a3c0f6f11', type: 'edge.core.test', data: { message: 'ö' } };
const BODY = JSON.stringify(EVENT);
const SECRETS = ['a plain secret, with ünusual letters', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'];

function signed(secret: string, body = BODY, atMs = NOW_MS): Record<string, string> {
  const timestamp = Math.floor(atMs / 1_000);
  const { edge, standard } = createSign(secret)(EVENT.id, timestamp, Buffer.from(body));
  return {
    'X-Edge-Signature': edge,
    'webhook-id': EVENT.id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standard,
  };
}

for (const secret of SECRETS) {
  test(`a delivery signed with ${secret.slice(0, 6)}… brings its event`, (t) => {
    const headers = signed(secret);
    const distinct = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value]]));

    for (const form of [headers, distinct, new Headers(headers)])
      for (const body of [BODY, Buffer.from(BODY)])
        t.deepEqual(verifyDelivery({ secret, headers: form, body, nowMs: NOW_MS }) as unknown, {
          ok: true,
          event: EVENT,
        });
  });
}

test('a delivery that was changed, is old, or lacks a signature is not believed, and says why', (t) => {
  const [secret = ''] = SECRETS;
  const headers = signed(secret);
  const problems = (change: Partial<Parameters<typeof verifyDelivery>[0]>) => {
    const verified = verifyDelivery({ secret, headers, body: BODY, nowMs: NOW_MS, ...change });
    return verified.ok ? null : verified.problems;
  };

  t.is(problems({}), null);
  t.deepEqual(problems({ body: `${BODY} ` }), [
    'X-Edge-Signature does not fit: the secret is another one, or the body was changed',
    'webhook-signature does not fit: the secret is another one, or id, time or body were changed',
  ]);
  t.is(problems({ secret: 'another secret' })?.length, 2);
  t.is(problems({ nowMs: NOW_MS + (AGE_SECONDS_MAX + 1) * 1_000 })?.length, 1);
  t.deepEqual(problems({ headers: {} }), [
    'X-Edge-Signature is missing',
    'webhook-id is missing; webhook-timestamp is missing; webhook-signature is missing',
  ]);
  t.deepEqual(problems({ headers: { ...headers, 'X-Edge-Signature': [headers['X-Edge-Signature'] ?? '', 'x'] } }), [
    'X-Edge-Signature is there 2 times',
  ]);
  t.deepEqual(problems({ headers: signed(secret, 'no json'), body: 'no json' }), ['the body is no JSON']);
});

test('the time is that of now unless one is given', (t) => {
  const [secret = ''] = SECRETS;

  t.true(verifyDelivery({ secret, headers: signed(secret, BODY, Date.now()), body: BODY }).ok);
  t.false(verifyDelivery({ secret, headers: signed(secret, BODY, Date.now() - 3_600_000), body: BODY }).ok);
});
