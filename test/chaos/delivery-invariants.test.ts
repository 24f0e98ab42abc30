/** The judge of deliveries sees every breach that it is there for. */
import test from 'ava';
import {
  CUT_MS_MAX,
  deliveryBreaches,
  type DeliveryEvidence,
  type ExpectedDelivery,
  type Subscribed,
} from './delivery-invariants.ts';
import { scaled } from '../support/busy.ts';
import type { Arrival } from '../support/webhooks/receiver.ts';

const webhook: Subscribed = { name: 'steady', id: 'webhook', path: '/hook', deletedMs: null, redelivered: new Map() };

function expected(event: string, more: Partial<ExpectedDelivery> = {}): ExpectedDelivery {
  return {
    webhook_id: webhook.id,
    event_id: event,
    type: 'edge.core.test',
    subject: 'node',
    status: 'delivered',
    attempt_count: 1,
    attempts_max: 3,
    tries: [1],
    answered: 1,
    ...more,
  };
}

function arrival(event: string, more: Partial<Arrival> = {}): Arrival {
  return {
    path: webhook.path,
    id: event,
    body: JSON.stringify({ id: event, type: 'edge.core.test', data: {} }),
    headers: {},
    beganMs: 1_000,
    atMs: 1_000,
    status: 204,
    ...more,
  };
}

const ofExecution = (event: string, name: string): Arrival =>
  arrival(event, {
    body: JSON.stringify({
      id: event,
      type: `edge.command_execution.${name}`,
      data: { command_execution_id: 'execution' },
    }),
  });

/** All went well, but for what is given. */
function evidence(more: Partial<DeliveryEvidence> = {}): DeliveryEvidence {
  return {
    webhooks: [webhook],
    expected: [expected('first'), expected('second')],
    arrivals: [arrival('first'), arrival('second')],
    ...more,
  };
}

const retried = expected('first', { attempt_count: 2, tries: [1, 2], answered: 2 });
const deleted = { ...webhook, deletedMs: 5_000 };

for (const [what, held] of [
  ['each event once', {}],
  [
    'a retry that precedes the next of its subject',
    {
      expected: [retried, expected('second')],
      arrivals: [arrival('first', { status: 503 }), arrival('first'), arrival('second')],
    },
  ],
  ['a repeat, as a crash makes them', { arrivals: [arrival('first'), arrival('first'), arrival('second')] }],
  [
    'a repeat of what was taken, behind the next, as a takeover makes them',
    {
      expected: [retried, expected('second')],
      arrivals: [arrival('first', { status: 503 }), arrival('first'), arrival('second'), arrival('first')],
    },
  ],
  [
    'one that is dropped after all of its tries',
    {
      expected: [
        expected('first', { status: 'dropped', attempt_count: 3, tries: [1, 2, 3], answered: 0 }),
        expected('second'),
      ],
      arrivals: [arrival('second')],
    },
  ],
  [
    'a retry that waits while another subject goes on',
    {
      expected: [retried, expected('second', { subject: 'another' })],
      arrivals: [arrival('first', { status: 503 }), arrival('second'), arrival('first')],
    },
  ],
  [
    'a redelivery that follows all others',
    {
      webhooks: [{ ...webhook, redelivered: new Map([['first', 1]]) }],
      expected: [retried, expected('second')],
      arrivals: [arrival('first'), arrival('second'), arrival('first')],
    },
  ],
  [
    'a deletion behind which nothing comes but what was under way',
    { webhooks: [deleted], expected: [], arrivals: [arrival('first', { beganMs: 5_000 + CUT_MS_MAX })] },
  ],
] as const) {
  test(`${what} is no breach`, (t) => {
    t.deepEqual(deliveryBreaches(evidence(held)), []);
  });
}

for (const [what, broken, pattern] of [
  [
    'an event of which nobody made a delivery',
    { expected: [expected('first', { status: null, attempt_count: 0, tries: [] }), expected('second')] },
    /nobody made a delivery .* event first/u,
  ],
  [
    'one that is still pending',
    { expected: [expected('first', { status: 'pending' }), expected('second')] },
    /still pending .* event first/u,
  ],
  [
    'one that is said to be delivered and never came',
    { arrivals: [arrival('second')], expected: [expected('first', { answered: 0 }), expected('second')] },
    /did not take it .* event first/u,
  ],
  [
    'one that is said to be delivered and was answered 503',
    { arrivals: [arrival('first', { status: 503 }), arrival('second')] },
    /did not take it/u,
  ],
  [
    'a drop before all tries were made',
    { expected: [expected('first', { status: 'dropped' }), expected('second')] },
    /dropped after 1 tries of 3/u,
  ],
  [
    'a try that is counted and not recorded',
    { expected: [expected('first', { attempt_count: 2, tries: [2] }), expected('second')] },
    /of 2 tries those are recorded: 2/u,
  ],
  ['an answer that nobody gave', { expected: [retried, expected('second')] }, /more answers are recorded/u],
  [
    'one of the same subject that came too early',
    { arrivals: [arrival('second'), arrival('first')] },
    /before the one before it was through.* event second/u,
  ],
  [
    'one that did not wait for the retry of the one before it',
    {
      expected: [retried, expected('second')],
      arrivals: [arrival('first', { status: 503 }), arrival('second'), arrival('first')],
    },
    /before the one before it was through.* event second/u,
  ],
  [
    'an end that came before its beginning',
    { arrivals: [ofExecution('first', 'completed'), ofExecution('second', 'sent')] },
    /sent came after what follows it/u,
  ],
  [
    'an event that nobody subscribed to',
    { arrivals: [arrival('first'), arrival('second'), arrival('stranger')] },
    /not for .* event stranger/u,
  ],
  [
    'another id than the event has',
    { arrivals: [arrival('first', { id: 'other' }), arrival('first'), arrival('second')] },
    /event first came under the id other/u,
  ],
  [
    'another content on a further try',
    {
      arrivals: [
        arrival('first'),
        arrival('first', { body: JSON.stringify({ id: 'first', type: 'edge.core.test', data: { more: 1 } }) }),
        arrival('second'),
      ],
    },
    /two contents/u,
  ],
  [
    'a redelivery that was promised and never sent',
    { webhooks: [{ ...webhook, redelivered: new Map([['first', 1]]) }] },
    /once more, and was not/u,
  ],
  [
    'a request behind the answer to a deletion',
    { webhooks: [deleted], expected: [], arrivals: [arrival('first', { beganMs: 5_001 + scaled(2 * CUT_MS_MAX) })] },
    /ms after the deletion was answered/u,
  ],
] as const) {
  test(`${what} is a breach`, (t) => {
    const found = deliveryBreaches(evidence(broken));

    t.true(
      found.some((breach) => pattern.test(breach)),
      found.join('\n'),
    );
  });
}
