/** Ids of deliveries: always the same for an event and a webhook, and in the order of time. */
import test from 'ava';
import { deliveryId } from '../../../../actors/webhook/delivery-id.ts';

const WEBHOOK = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d99';
const EVENT = { id: 'c9b2a5f0-51d1-4a3e-bf77-ffffffffffff', seq: '4097', storedAtMs: Date.UTC(2026, 10, 30) };

test('it is a UUID of version 7 with the time and the place of the event', (t) => {
  const id = deliveryId(WEBHOOK, EVENT);

  t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7001-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u);
  t.is(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), EVENT.storedAtMs);
  t.is(deliveryId(WEBHOOK, EVENT), id);
});

test('another webhook, and another event of the same moment, have another', (t) => {
  const others = [
    deliveryId('0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d98', EVENT),
    deliveryId(WEBHOOK, { ...EVENT, id: 'c9b2a5f0-51d1-4a3e-bf77-fffffffffffe' }),
    deliveryId(WEBHOOK, { ...EVENT, seq: '4098' }),
    deliveryId(WEBHOOK, { ...EVENT, storedAtMs: EVENT.storedAtMs + 1 }),
  ];

  t.false(others.includes(deliveryId(WEBHOOK, EVENT)));
});
