/** Retried creates (C1). */
import test from 'ava';
import { WHOLE, type Standing } from '../../../actors/standing.ts';
import { ok, refuse, type Result } from '../../../actors/refusal.ts';
import { commandOf } from '../../support/api/command.ts';
import { KEYS, serveApi, SOME_ID, type FakeOptions, type ServedApi } from '../../support/api/fakes.ts';

const body = { command_text: 'true', targeting: { type: 'all' } };

/** An admin that gives enrolment keys to whoever asks. */
const PUBLIC_KEYS = {
  operations: { publicEnrollmentKeyEnabled: true, defaultClusterName: 'main' },
  reads: { clusterId: async () => SOME_ID as never },
} satisfies FakeOptions;

interface Store {
  readonly served: ServedApi;
  readonly answers: Map<string, { readonly bodyHash: string; readonly answer: unknown }>;
  readonly post: (key: string, sent?: object, credential?: string) => ReturnType<ServedApi['request']>;
}

/** An API whose creates are remembered as the database would: with the create, and refused when the key is taken. */
async function withStore(
  t: Parameters<typeof serveApi>[0],
  before: () => Promise<Result<null>> = async () => ok(null),
  options: FakeOptions = {},
): Promise<Store> {
  const answers: Store['answers'] = new Map();
  let made = 0;
  const served = await serveApi(t, {
    ...options,
    reads: { idempotencyRecord: async (scope, key) => answers.get(`${scope} ${key}`) ?? null, ...options.reads },
    ports: {
      ask: async (build) => {
        const { message } = build(1 as never);
        const idempotency = 'idempotency' in message ? message.idempotency : null;
        const hindered = await before();
        if (!hindered.ok) return hindered;
        if (idempotency !== null) {
          const at = `${idempotency.scope} ${idempotency.key}`;
          if (answers.has(at)) return refuse('idempotency_conflict', 'taken');
          answers.set(at, { bodyHash: idempotency.bodyHash, answer: commandOf(`${SOME_ID}-${(made += 1)}`) });
          return ok(answers.get(at)?.answer) as never;
        }
        return ok(commandOf(`${SOME_ID}-${(made += 1)}`)) as never;
      },
      ...options.ports,
    },
  });
  return {
    served,
    answers,
    post: (key, sent = body, credential = KEYS.api) =>
      served.request('POST', '/api/v1/commands', {
        body: sent,
        headers: { 'idempotency-key': key, authorization: `Bearer ${credential}` },
      }),
  };
}

test('the same key and body get the first answer, however the fields are ordered', async (t) => {
  const { post } = await withStore(t);

  const first = await post('k');
  const second = await post('k', { targeting: body.targeting, command_text: body.command_text });

  t.deepEqual([second.status, second.body?.data], [201, first.body?.data]);
  t.not(second.body?.meta?.request_id, first.body?.meta?.request_id);
});

test('a key with another body is a conflict, another key another create, and another credential has its own keys', async (t) => {
  const { post } = await withStore(t);
  const first = await post('k');

  const other = await post('k', { ...body, command_text: 'false' });

  t.deepEqual([other.status, other.body?.error?.code], [409, 'idempotency_conflict']);
  t.notDeepEqual((await post('k2')).body?.data, first.body?.data);
  t.notDeepEqual((await post('k', body, KEYS.master)).body?.data, first.body?.data);
});

test('twins at the same time create once: the loser gets the answer of the winner', async (t) => {
  const both = Promise.withResolvers<void>();
  let waiting = 0;
  const { post, answers } = await withStore(t, async () => {
    if ((waiting += 1) === 2) both.resolve();
    await both.promise;
    return ok(null);
  });

  const [first, second] = await Promise.all([post('k'), post('k')]);

  t.deepEqual([first.status, second.status], [201, 201]);
  t.deepEqual(first.body?.data, second.body?.data);
  t.is(answers.size, 1);
});

test('a repeat refused for the name that its first try took gets the first answer; another caller gets the conflict', async (t) => {
  let isFirst = true;
  const store = await withStore(t, async () => {
    if (!isFirst) return ok(null);
    isFirst = false;
    await store.post('k'); // the twin that gets through while this one waits
    return refuse('conflict', 'The name is taken.');
  });

  t.is((await store.post('k')).status, 201);

  const refused = await withStore(t, async () => refuse('conflict', 'The name is taken.'));
  const answer = await refused.post('k');
  t.deepEqual([answer.status, answer.body?.error?.code], [409, 'conflict']);
});

test('a refused create is not remembered, and operations that do not create ignore the header', async (t) => {
  let fails = true;
  const { post, served, answers } = await withStore(t, async () =>
    fails ? refuse('service_unavailable', 'not now') : ok(null),
  );

  t.is((await post('k')).status, 503);
  fails = false;
  t.is((await post('k')).status, 201);
  await served.request('POST', `/api/v1/commands/${SOME_ID}/cancel`, { headers: { 'idempotency-key': 'cancel' } });
  t.is(answers.size, 1);
});

test('a repeat gets its answer while the fleet is overfull, where a first try is refused', async (t) => {
  let standing: Standing = WHOLE;
  const { served } = await withStore(t, undefined, { ports: { standing: () => standing } });
  const post = (key: string) =>
    served.request('POST', `/api/v1/nodes/${SOME_ID}/recovery_key`, { headers: { 'idempotency-key': key } });
  const first = await post('k');
  standing = { kind: 'overfull', orphans: [], roomMax: 1 };

  const [repeated, fresh] = [await post('k'), await post('k2')];

  t.deepEqual([first.status, repeated.status, repeated.body?.data], [201, 201, first.body?.data]);
  t.deepEqual([fresh.status, fresh.body?.error?.code], [503, 'degraded_mode']);
});

test('a repeat counts as none of the calls that an address has, and gets its answer where it has none left', async (t) => {
  const { served } = await withStore(t, undefined, PUBLIC_KEYS);
  const post = (key: string) =>
    served.request('POST', '/api/v1/clusters/default/enrollment_keys/public', {
      headers: { 'idempotency-key': key, authorization: '' },
    });
  const first = await post('0');
  for (let times = 0; times < 30; times += 1) t.is((await post('0')).status, 201);

  let created = 1;
  while ((await post(`${created}`)).status === 201) created += 1;

  t.is(created, 20);
  const repeated = await post('0');
  t.deepEqual([repeated.status, repeated.body?.data], [201, first.body?.data]);
});

test('an address that floods with keys has no more answers looked for than five times the calls that it has', async (t) => {
  let read = 0;
  const { served } = await withStore(t, undefined, {
    ...PUBLIC_KEYS,
    reads: {
      ...PUBLIC_KEYS.reads,
      idempotencyRecord: async () => {
        read += 1;
        return Promise.resolve(null);
      },
    },
  });

  for (let times = 0; times < 300; times += 1)
    await served.request('POST', '/api/v1/clusters/default/enrollment_keys/public', {
      headers: { 'idempotency-key': `${times}`, authorization: '' },
    });

  t.is(read, 100);
});

test('callers without a credential share no keys across addresses', async (t) => {
  const scopes: string[] = [];
  const { served } = await withStore(t, undefined, {
    ...PUBLIC_KEYS,
    reads: {
      ...PUBLIC_KEYS.reads,
      idempotencyRecord: async (scope) => {
        scopes.push(scope);
        return null;
      },
    },
  });

  await served.request('POST', '/api/v1/clusters/default/enrollment_keys/public', {
    headers: { 'idempotency-key': 'k', authorization: '' },
  });

  t.deepEqual(scopes, ['create_public_enrollment_key:anonymous@127.0.0.1']);
});
