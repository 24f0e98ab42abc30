/** Events on the API: their catalogue, and those of one node. */
import test from 'ava';
import { v7 } from 'uuid';
import { envelopeOf } from '../../../actors/event-catalogue.ts';
import { EVENT_TYPES, type StoredEvent } from '../../../actors/events.ts';
import { EventTypeResource } from '../../../actors/event-catalogue.ts';
import { ok, refuse } from '../../../actors/refusal.ts';
import { NOW_MS, serveApi, SOME_ID, type Reply } from '../../support/api/fakes.ts';

function typesOf({ body }: Reply): readonly string[] {
  const rows = (body?.data ?? []) as unknown as readonly { readonly type: string }[];
  return rows.map(({ type }) => type);
}

test('types are listed, paged and explained, and an unknown one is not found', async (t) => {
  const { request } = await serveApi(t);

  const all = await request('GET', '/api/v1/event_types');
  const last = await request('GET', '/api/v1/event_types?sort=-type&page_size=1');

  t.deepEqual(typesOf(all), [...EVENT_TYPES]);
  t.deepEqual(typesOf(last), ['edge.ssh_username.verified']);
  t.is((await request('GET', '/api/v1/event_types/edge.core.test')).body?.data?.['type'], 'edge.core.test');
  t.is((await request('GET', '/api/v1/event_types/edge.nope')).status, 404);
});

for (const type of EVENT_TYPES) {
  test(`${type} is explained with a whole envelope of this installation, and nothing else`, async (t) => {
    const { request } = await serveApi(t, { operations: { coreName: 'north' } });

    const { body } = await request('GET', `/api/v1/event_types/${type}`);

    t.deepEqual(Object.keys(body?.data ?? {}), ['type', 'description', 'example']);
    t.true(EventTypeResource.safeParse(body?.data).success);
    t.like(body?.data?.['example'], { type, corename: 'north', source: '/edge-fleet-control' });
    t.true(envelopeOf(type).safeParse(body?.data?.['example']).success);
  });
}

test('a test event answers its envelope', async (t) => {
  const { request } = await serveApi(t, { operations: { coreName: 'north' } });

  const { status, body } = await request('POST', '/api/v1/events/test');

  t.is(status, 202);
  t.like(body?.data, {
    specversion: '1.0',
    type: 'edge.core.test',
    corename: 'north',
    data: { message: 'This is a test event.', requested_at: '2026-01-15T10:00:00.000Z' },
  });
});

test('for a deleted node with kept events a type without any is an empty list; an unknown node is not found', async (t) => {
  const kept: StoredEvent = {
    id: SOME_ID,
    cursor: '1-1',
    type: 'edge.node.status_changed',
    subject: SOME_ID,
    time: new Date(NOW_MS).toISOString(),
    data: {},
  };
  const { request } = await serveApi(t, {
    reads: {
      nodeEvents: async ({ node, types }) => {
        const rows = [kept].filter(
          ({ subject, type }) => subject === node && (types === null || types.some((one) => one === type)),
        );
        return ok({ rows, totalCount: rows.length });
      },
    },
  });
  const told = async (path: string) => {
    const { status, body } = await request('GET', `/api/v1/nodes/${path}`);
    return [status, (body?.data as readonly unknown[] | undefined)?.length];
  };

  t.deepEqual(await told(`${SOME_ID}/events`), [200, 1]);
  t.deepEqual(await told(`${SOME_ID}/events?type__in=edge.node.status_changed`), [200, 1]);
  t.deepEqual(await told(`${SOME_ID}/events?type__in=edge.node.version_changed`), [200, 0]);
  for (const unknown of ['', '?type__in=edge.node.version_changed'])
    t.deepEqual(await told(`${v7()}/events${unknown}`), [404, undefined], unknown);
});

test('as many events are counted as are asked for, and all where nobody says', async (t) => {
  const asked: unknown[] = [];
  const { request } = await serveApi(t, {
    reads: {
      nodeEvents: async ({ countedMax }) => {
        asked.push(countedMax);
        return ok({ rows: [], totalCount: 21 });
      },
    },
  });

  await request('GET', `/api/v1/nodes/${SOME_ID}/events`);
  const { body } = await request('GET', `/api/v1/nodes/${SOME_ID}/events?counted_max=7&page=2&page_size=10`);

  t.deepEqual(asked, [null, 7]);
  t.like(body?.meta, { pagination: { total_count: 21, has_next: true, next_page: 3 } });
});

test('logins that cannot be found yet are a 503 with the reason, also of a node that nobody knows', async (t) => {
  const { request } = await serveApi(t, {
    reads: { nodeEvents: async () => refuse('service_unavailable', 'Not yet.') },
  });

  const { status, body, headers } = await request(
    'GET',
    `/api/v1/nodes/${SOME_ID}/events?type__in=edge.ssh_username.verified`,
  );

  t.is(status, 503);
  t.like(body?.error, { code: 'service_unavailable', message: 'Not yet.' });
  t.not(headers.get('retry-after'), null);
});
