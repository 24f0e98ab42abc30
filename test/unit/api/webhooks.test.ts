/** What a webhook may be: each bound, taken at it and refused one beyond; and what is sent again. */
import test from 'ava';
import { EVENT_TYPES } from '../../../actors/events.ts';
import { catalogue } from '../../../api/catalogue.ts';
import type { Call } from '../../../api/operation.ts';
import { parse } from '../../../api/inputs/parse.ts';

const GOOD = { url: 'https://receiver.test/', secret: 's', subscribed_events: ['edge.core.test'] };

/** Fields that are wrong; none: it is taken. */
function wrong(input: object): readonly string[] {
  const parsed = parse(catalogue.create_webhook, { ...GOOD, ...input });
  return parsed.ok ? [] : Object.keys(parsed.refusal.details as object);
}

const headers = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'value']));

test('url, secret and headers are taken up to their bounds', (t) => {
  t.deepEqual(
    wrong({
      url: `https://${'x'.repeat(2_040)}`,
      secret: 'x'.repeat(256),
      subscribed_events: EVENT_TYPES,
      headers: { ...headers(19), 'x-long': 'x'.repeat(4_096) },
    }),
    [],
  );
  t.deepEqual(wrong({ headers: null }), []);
});

test('beyond a bound it is refused on that field', (t) => {
  t.deepEqual(wrong({ url: `https://${'x'.repeat(2_041)}` }), ['url']);
  t.deepEqual([wrong({ secret: '' }), wrong({ secret: 'x'.repeat(257) })], [['secret'], ['secret']]);
  t.deepEqual(
    [wrong({ headers: headers(21) }), wrong({ headers: { 'x-long': 'x'.repeat(4_097) } })],
    [['headers'], ['headers.x-long']],
  );
  t.deepEqual(
    [wrong({ headers: { a: '1', A: '2' } }), wrong({ headers: { Host: 'x' } }), wrong({ headers: { 'no name': 'x' } })],
    [['headers'], ['headers.Host'], ['headers']],
  );
  t.deepEqual(
    [
      wrong({ subscribed_events: [] }),
      wrong({ subscribed_events: ['edge.core.test', 'edge.core.test'] }),
      wrong({ subscribed_events: ['edge.core.*'] }),
    ],
    [['subscribed_events'], ['subscribed_events'], ['subscribed_events.0']],
  );
  t.deepEqual(wrong({ further: 1 }), ['further']);
});

test('a delivery whose event is past its retention is no missing one: it is there, and cannot be sent again', async (t) => {
  const webhook = crypto.randomUUID();
  const id = crypto.randomUUID();
  const ref = { id, cursor: '1.1', eventId: 'e', subject: 's', attempts: 3, attemptsMax: 3, dueAtMs: null };
  const refusalWhere = async (delivery: object | null) => {
    const ports = { reads: { delivery: async () => delivery }, deliversWebhooks: () => true };
    const answer = await catalogue.redeliver_webhook_delivery.handle({ id }, { ports } as unknown as Call);
    return answer.ok ? null : [answer.refusal.code, answer.refusal.message];
  };

  t.deepEqual(await refusalWhere({ webhook, ref, hasEvent: false }), [
    'conflict',
    'The event of this delivery is past its retention: there is nothing to send any more.',
  ]);
  t.is((await refusalWhere(null))?.[0], 'not_found');
});
