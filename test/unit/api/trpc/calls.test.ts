import test, { type ExecutionContext } from 'ava';
import { refuse } from '../../../../actors/refusal.ts';
import { createClient } from '../../../../api/client/client.ts';
import { mountTrpc } from '../../../../api/trpc/mount.ts';
import { commandOf, idOf, nodeOf } from '../../../support/api/rows.ts';
import {
  batchClient,
  failure,
  httpClient,
  postClient,
  socketClient,
  type Client,
} from '../../../support/api/trpc-clients.ts';
import { answerWith, serve, type Served } from '../../../support/api/served.ts';
import { KEYS } from '../../../support/api/fakes.ts';

const WAYS: readonly (readonly [string, (t: ExecutionContext, url: string, key: string | null) => Client])[] = [
  ['HTTP', (_t, url, key) => httpClient(url, key)],
  ['HTTP by POST alone', (_t, url, key) => postClient(url, key)],
  ['a batch', (_t, url, key) => batchClient(url, key)],
  ['WebSocket', socketClient],
];

for (const [way, connect] of WAYS) {
  test(`over ${way}, a list answers its rows and where the page stands`, async (t) => {
    const { url, fixture } = await start(t);
    for (const n of [0, 1, 2]) fixture.nodes.set(idOf(n), nodeOf(n));

    const listed = await connect(t, url, KEYS.api).list_nodes.query({ page_size: 2 });

    t.deepEqual(listed.data, [nodeOf(0), nodeOf(1)]);
    t.like(listed.pagination, { page: 1, page_size: 2, total_count: 3, has_next: true });
  });

  test(`over ${way}, a mutation reaches its actor and answers the resource`, async (t) => {
    const served = await start(t);
    served.answer = answerWith(commandOf(1));

    const created = await connect(t, served.url, KEYS.master).create_command.mutate({
      command_text: 'true',
      targeting: { type: 'all' },
    });

    t.deepEqual(created, commandOf(1));
    t.like(served.asked[0], { to: { kind: 'command' }, message: { type: 'create', command: { text: 'true' } } });
  });

  test(`over ${way}, a refusal carries our code, status and details`, async (t) => {
    const served = await start(t);
    served.answer = () => refuse('conflict', 'The cluster still holds nodes.');
    const client = connect(t, served.url, KEYS.api);

    const invalid = await failure(client.create_command.mutate({ command_text: '', targeting: { type: 'all' } }));
    const missing = await failure(client.get_node.query({ id: idOf(9) }));
    const malformed = await failure(client.get_node.query({ id: 'nonsense' }));

    t.like(invalid.data, { code: 'validation_failed', httpStatus: 422, path: 'create_command' });
    t.deepEqual(Object.keys((invalid.data as { details: object }).details), ['command_text']);
    t.like(missing, { message: 'Resource not found', data: { code: 'not_found', httpStatus: 404 } });
    t.like(malformed.data, { code: 'bad_request', httpStatus: 400 });
  });

  test(`over ${way}, a missing and a wrong key are told apart from one that does not reach here`, async (t) => {
    const { url } = await start(t);

    for (const [key, code, httpStatus] of [
      [null, 'unauthorized', 401],
      ['wrong', 'unauthorized', 401],
      [KEYS.metrics, 'forbidden', 403],
      [KEYS.mcp, 'forbidden', 403],
    ] as const) {
      t.like((await failure(connect(t, url, key).get_admin.query({}))).data, { code, httpStatus });
    }
    t.is((await connect(t, url, KEYS.api).get_admin.query({})).name, 'one');
  });

  test(`over ${way}, a create that is tried again is told apart by the key in its input, which is no part of it`, async (t) => {
    const served = await start(t);
    served.answer = answerWith(commandOf(1));
    const client = connect(t, served.url, KEYS.api);
    const command = { command_text: 'true', targeting: { type: 'all' as const } };

    await client.create_command.mutate({ ...command, idempotency_key: 'once' });
    const malformed = await failure(client.create_command.mutate({ ...command, idempotency_key: ' ' }));
    const noText = await failure(client.create_command.mutate({ ...command, idempotency_key: 7 as never }));

    t.like(served.asked[0], { message: { idempotency: { key: 'once', scope: 'create_command:api' } } });
    t.deepEqual(
      [malformed, noText].map(({ data }) => (data as { code: string }).code),
      ['bad_request', 'bad_request'],
    );
    t.is(served.asked.length, 1);
  });

  test(`over ${way}, a bug tells nothing of its cause`, async (t) => {
    const { url, fixture, log } = await start(t);
    fixture.failing = true;

    const failed = await failure(connect(t, url, KEYS.api).list_nodes.query({}));

    t.like(failed.data, { code: 'internal_error', httpStatus: 500 });
    t.false(/cause that nobody|stack|\.ts/u.test(failed.raw));
    await log.seen(/failed/u);
  });
}

test('a targeting of as many nodes as a body holds is previewed by a client over HTTP', async (t) => {
  const { url } = await start(t);
  const api = createClient({ url, key: KEYS.api });
  const node_ids = Array.from({ length: 26_000 }, (_, n) => idOf(n));

  const reached = await api.preview_targeting.query({ targeting: { type: 'nodes', node_ids } });

  t.deepEqual(reached, { node_count: 0, nodes: [] });
});

test('no mutation is a GET', async (t) => {
  const { url, asked } = await start(t);
  const input = encodeURIComponent(JSON.stringify({ command_text: 'true', targeting: { type: 'all' } }));

  const answer = await fetch(`${url}/api/trpc/create_command?input=${input}`, {
    headers: { authorization: `Bearer ${KEYS.api}` },
  });

  t.deepEqual([answer.status, answer.headers.get('allow'), asked.length], [405, 'POST', 0]);
});

test('an unknown procedure is not found', async (t) => {
  const { url } = await start(t);

  const answer = await fetch(`${url}/api/trpc/no_such_thing`, { headers: { authorization: `Bearer ${KEYS.api}` } });

  t.is(answer.status, 404);
  t.like(await answer.json(), { error: { data: { code: 'not_found' } } });
});

test('a body that is no JSON, too deep or poisoned is a bad request', async (t) => {
  const { url } = await start(t);

  for (const body of ['{', '['.repeat(100_000), '{"a":{"__proto__":{}}}', 'null', '"text"', '[]']) {
    const answer = await fetch(`${url}/api/trpc/create_command`, {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${KEYS.api}`, 'content-type': 'application/json' },
    });
    const text = await answer.text();

    t.true([400, 422].includes(answer.status), `${body.slice(0, 20)}: ${answer.status}`);
    t.true(/bad_request|validation_failed/u.test(text));
    t.false(/stack|node_modules/u.test(text));
  }
});

test('answers carry the request id, and 401 says how to authenticate', async (t) => {
  const { url } = await start(t);

  const answer = await fetch(`${url}/api/trpc/get_admin`, { headers: { 'x-request-id': 'mine' } });
  const { error } = (await answer.json()) as { error: { data: { request_id: string } } };

  t.deepEqual(
    [answer.headers.get('x-request-id'), answer.headers.get('www-authenticate'), error.data.request_id],
    ['mine', 'Bearer', 'mine'],
  );
});

test('a retried create over HTTP is told apart by its Idempotency-Key', async (t) => {
  const served = await start(t);
  served.answer = answerWith(commandOf(1));

  await fetch(`${served.url}/api/trpc/create_command`, {
    method: 'POST',
    body: JSON.stringify({ command_text: 'true', targeting: { type: 'all' } }),
    headers: { authorization: `Bearer ${KEYS.api}`, 'content-type': 'application/json', 'idempotency-key': 'once' },
  });

  t.like(served.asked[0], { message: { idempotency: { key: 'once', scope: 'create_command:api' } } });
});

function start(t: ExecutionContext): Promise<Served> {
  return serve(t, { mounts: ({ feeds }, clock) => [mountTrpc(feeds, clock)] });
}
