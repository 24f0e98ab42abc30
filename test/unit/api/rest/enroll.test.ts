/** The enrolment route. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import test from 'ava';
import { refuse } from '../../../../actors/refusal.ts';
import type { DomainEvent } from '../../../../actors/event-catalogue.ts';
import { encodeEnrollmentBlob } from '../../../../transport/protocol/enrollment.ts';
import { ENROLL_PATH } from '../../../../transport/protocol/version.ts';
import { FULL_TOLD_MS, REFUSED_EVENTS_PER_MINUTE_MAX } from '../../../../api/rest/enroll.ts';
import { serveApi, SOME_ID, type FakeOptions } from '../../../support/api/fakes.ts';
import { PORTS } from '../../../support/actors.ts';
import { idOf } from '../../../support/api/rows.ts';

const NONCE = 'a-nonce-of-at-least-22-characters';
const key = encodeEnrollmentBlob({ admin_urls: ['http://127.0.0.1:44000'], cluster_name: 'one', nonce: NONCE });
const body = {
  enrollment_key: key,
  node_id: SOME_ID,
  id_type: 'persistent',
  version: '0.1.0',
  ports: PORTS,
  self_update_enabled: false,
};
const known: FakeOptions['reads'] = {
  enrollmentKeyByNonce: async (hash) =>
    Buffer.from(hash).toString() === `hash of ${NONCE}`
      ? ({ id: 'k', cluster: SOME_ID, usesRemaining: 3, expiredAtMs: null } as never)
      : null,
};
const noKey = { headers: { authorization: '' } };

test('enrolment with a known key goes to the actor of the cluster, with new credentials, sealed for that node', async (t) => {
  const sealed: string[] = [];
  const { request, asked } = await serveApi(t, {
    reads: known,
    ports: {
      vault: {
        newSecret: () => 'secret',
        sha256: (text) => Buffer.from(`hash of ${text}`),
        seal: (text, boundTo) => {
          sealed.push(boundTo);
          return `sealed ${text}`;
        },
      },
    },
  });

  const { status } = await request('POST', ENROLL_PATH, {
    ...noKey,
    body: { ...body, aliases: ['a'] },
  });

  t.is(status, 201);
  t.deepEqual(asked[0]?.to, { kind: 'cluster', id: SOME_ID } as never);
  t.like(asked[0]?.message, {
    type: 'enroll',
    key: { id: 'k' },
    existing: null,
    credentials: { apiToken: 'secret', sealedProxyPassword: 'sealed secret' },
  });
  t.deepEqual(sealed, [`node/${SOME_ID}/sealed_proxy_password`]);
});

test('an agent that hung up before it was let in is not: it tries again, and what it got then stays good', async (t) => {
  const read = Promise.withResolvers<void>();
  const found = Promise.withResolvers<null>();
  const { api, url, asked, request } = await serveApi(t, {
    reads: {
      ...known,
      nodeForEnrollment: () => {
        read.resolve();
        return found.promise;
      },
    },
  });
  const closed = new Promise<void>((resolve) => {
    api.server.once('connection', (socket) => socket.once('close', () => resolve()));
  });
  const late = httpRequest(url + ENROLL_PATH, { method: 'POST', headers: { 'content-type': 'application/json' } });
  late.on('error', () => {});
  late.end(JSON.stringify({ ...body, version: 'late' }));
  await read.promise;

  late.destroy();
  await closed;
  found.resolve(null);

  t.is((await request('POST', ENROLL_PATH, { ...noKey, body: { ...body, version: 'in time' } })).status, 201);
  t.deepEqual(
    asked.map(({ message }) => message.type === 'enroll' && message.request.version),
    ['in time'],
  );
});

test('an unknown key and what is no key are 403 invalid_key, and leave an event that names nothing', async (t) => {
  const events: DomainEvent[] = [];
  const { request, asked } = await serveApi(t, {
    reads: known,
    records: {
      publish: async (event) => {
        events.push(event);
        return event as never;
      },
    },
  });
  const strangers = [
    encodeEnrollmentBlob({ admin_urls: ['http://x'], cluster_name: 'one', nonce: 'another-nonce-of-22-characters' }),
    'not a key',
    Buffer.from('{"nonce":1}').toString('base64url'),
  ];

  for (const enrollment_key of strangers) {
    const reply = await request('POST', ENROLL_PATH, { ...noKey, body: { ...body, enrollment_key } });
    t.deepEqual([reply.status, reply.body?.error?.code], [403, 'invalid_key']);
  }

  t.deepEqual(asked, []);
  t.is(events.length, strangers.length);
  t.deepEqual(events[0]?.data, {
    enrollment_key_id: null,
    cluster_name: null,
    name: null,
    uses_remaining: null,
    result: 'invalid_key',
    verified_at: '2026-01-15T10:00:00.000Z',
  });
});

test('what the cluster refuses keeps its code, and a malformed request names its fields', async (t) => {
  const { request } = await serveApi(t, {
    reads: known,
    ports: { ask: async () => refuse('key_spent', 'The key has no uses left.') },
  });

  const spent = await request('POST', ENROLL_PATH, { ...noKey, body });
  const malformed = await request('POST', ENROLL_PATH, { ...noKey, body: { ...body, node_id: 'x', ports: {} } });

  t.deepEqual([spent.status, spent.body?.error?.code], [403, 'key_spent']);
  t.is(malformed.status, 422);
  t.true(Object.keys(malformed.body?.error?.details ?? {}).includes('ports.http_port'));
  t.is((await request('POST', ENROLL_PATH, noKey)).status, 422);
});

test('an address that guesses keys gets 429, with one event, for the rest of the minute; a good key still works', async (t) => {
  let events = 0;
  const { request, clock } = await serveApi(t, {
    reads: known,
    records: {
      publish: async (event) => {
        events += 1;
        return event as never;
      },
    },
  });
  const guess = () => request('POST', ENROLL_PATH, { ...noKey, body: { ...body, enrollment_key: 'guess' } });
  for (let tries = 0; tries < 60; tries += 1) t.is((await guess()).status, 403);

  const limited = await guess();

  await guess();
  t.deepEqual([limited.status, limited.headers.get('retry-after'), events], [429, '60', 61]);
  t.is((await request('POST', ENROLL_PATH, { ...noKey, body })).status, 201);
  clock.nowMs += 60_000;
  t.is((await guess()).status, 403);
});

test('an attempt with a good key that lets nobody in all the same is told of as well, and of the key nothing', async (t) => {
  const events: DomainEvent[] = [];
  const { request } = await serveApi(t, {
    reads: known,
    ports: { ask: async () => refuse('conflict', 'A node with this id is already enrolled.') },
    records: {
      publish: async (event) => {
        events.push(event);
        return event as never;
      },
    },
  });

  const taken = await request('POST', ENROLL_PATH, { ...noKey, body: { ...body, recovery_key: 'wrong' } });

  t.is(taken.status, 409);
  t.deepEqual(
    events.map(({ type, data }) => ({ type, data })),
    [
      {
        type: 'edge.enrollment_key.verified',
        data: {
          enrollment_key_id: null,
          cluster_name: null,
          name: null,
          uses_remaining: null,
          result: 'invalid_key',
          verified_at: '2026-01-15T10:00:00.000Z',
        },
      },
    ],
  );
});

test(`attempts that name no key leave at most ${REFUSED_EVENTS_PER_MINUTE_MAX} events in a minute, from however many addresses`, async (t) => {
  let events = 0;
  const { url } = await serveApi(t, {
    reads: known,
    records: {
      publish: async (event) => {
        events += 1;
        return event as never;
      },
    },
  });

  const statuses = await fromMany(url, { ...body, enrollment_key: 'guess' });

  t.deepEqual([...new Set(statuses)], [403]);
  t.is(events, REFUSED_EVENTS_PER_MINUTE_MAX);
});

for (const [why, keyed, refusal] of [
  ['was spent', { usesRemaining: 0 }, refuse('key_spent', 'The key has no uses left.')],
  ['expired', { expiredAtMs: 1 }, refuse('key_expired', 'The key has expired.')],
  ['is of a full cluster', {}, refuse('node_limit_reached', 'The cluster has reached its node limit.')],
] as const)
  test(`attempts with a key that ${why} reach its cluster for an event, ${REFUSED_EVENTS_PER_MINUTE_MAX} times a minute at most`, async (t) => {
    let asked = 0;
    let limit = 3;
    const { url, clock } = await serveApi(t, {
      reads: {
        enrollmentKeyByNonce: async () =>
          ({ id: 'k', cluster: SOME_ID, clusterName: 'one', usesRemaining: 3, expiredAtMs: null, ...keyed }) as never,
        get: (async () => ({ node_count: 3, node_limit: limit })) as never,
      },
      ports: {
        ask: async () => {
          asked += 1;
          return refusal;
        },
      },
    });

    // each of another machine: one that waits at a full cluster is told of once
    const statuses = await fromMany(url, body, idOf);

    t.deepEqual([...new Set(statuses)], [403, 429]);
    t.is(asked, REFUSED_EVENTS_PER_MINUTE_MAX);
    t.is(statuses.filter((status) => status === 403).length, REFUSED_EVENTS_PER_MINUTE_MAX);
    limit = 4;
    if (why !== 'is of a full cluster') clock.nowMs += 60_000;
    t.is(await enrollFrom(url, body, '127.0.0.99'), 403);
  });

test('a machine at a full cluster is refused on each try; its cluster is asked once a day, or at once if it has room', async (t) => {
  const asked: string[] = [];
  const cluster = { node_count: 3, node_limit: 3 };
  const { request, clock } = await serveApi(t, {
    reads: { ...known, get: (async () => cluster) as never },
    ports: {
      ask: async (make) => {
        const { message } = make('a' as never);
        asked.push(message.type === 'enroll' ? message.request.node_id : message.type);
        return refuse('node_limit_reached', 'The cluster has reached its node limit.');
      },
    },
  });
  const enrolled = (n: number) => request('POST', ENROLL_PATH, { ...noKey, body: { ...body, node_id: idOf(n) } });

  for (let tries = 0; tries < 70; tries += 1) t.is((await enrolled(1)).body?.error?.code, 'node_limit_reached');
  await enrolled(2);
  t.deepEqual(asked, [idOf(1), idOf(2)]);
  clock.nowMs += FULL_TOLD_MS;
  await enrolled(1);
  cluster.node_limit = 4;
  await enrolled(1);
  t.deepEqual(asked.slice(2), [idOf(1), idOf(1)]);
});

/** What comes of 60 attempts of each of twelve addresses. */
async function fromMany(
  url: string,
  sent: object,
  nodeOf: (n: number) => string = () => SOME_ID,
): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let last = 2; last <= 13; last += 1)
    for (let tries = 0; tries < 60; tries += 1)
      statuses.push(await enrollFrom(url, { ...sent, node_id: nodeOf(statuses.length) }, `127.0.0.${last}`));
  return statuses;
}

async function enrollFrom(url: string, sent: object, localAddress: string): Promise<number> {
  const asked = httpRequest(url + ENROLL_PATH, {
    method: 'POST',
    localAddress,
    headers: { 'content-type': 'application/json' },
  }).end(JSON.stringify(sent));
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode ?? 0;
}
