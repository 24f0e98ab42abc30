/** Recordings of SSH sessions, through a whole admin: brought by nodes, read on every surface, and deleted. */
import { randomBytes, randomUUID } from 'node:crypto';
import { request as send, type ClientRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import ava, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { SshRecordingResource } from '../../../actors/resources/ssh.ts';
import { RECORDING_SLACK_BYTES } from '../../../transport/protocol/recording.ts';
import { RECORDING_PATH } from '../../../transport/protocol/version.ts';
import { ADMIN_KEYS } from '../../support/admin.ts';
import { castOf, descriptionOf, upload, type Upload } from '../../support/casts.ts';
import { until } from '../../support/until.ts';
import { startFleet, type Fleet } from './fleet.ts';

const { serial: test } = ava; // an admin each

const BYTES_MAX = 65_536;

interface Node {
  readonly id: string;
  readonly token: string;
}

/** An admin with two nodes that have their tokens. */
async function fixture(t: ExecutionContext, env: Readonly<Record<string, string>> = {}) {
  const fleet = await startFleet(t, { SSH_RECORDING_MAX_BYTES: String(BYTES_MAX), ...env });
  await fleet.request('POST', '/clusters', { name: 'prod' });
  const {
    data: { key },
  } = await fleet.request('POST', '/clusters/prod/enrollment_keys', { uses_remaining: null });
  const enrolled = async (): Promise<Node> => {
    const { data } = await fleet.enroll(String(key), { node_id: randomUUID() });
    return { id: String(data['node_id']), token: String(data['api_token']) };
  };
  const [one, two] = [await enrolled(), await enrolled()];
  return {
    ...fleet,
    one,
    two,
    upload: (told?: Upload, token: string | null = one.token) => upload(fleet.admin.url, token, told),
  };
}

async function rows(t: ExecutionContext, { admin }: Fleet, text: string): Promise<unknown[]> {
  const { user, host, port, database } = admin.database;
  const client = new Client({ user, host, port, database });
  await client.connect();
  t.teardown(() => client.end());
  return (await client.query(text)).rows as unknown[];
}

test('a recording is stored once however often it comes, and shown with its text only when it is asked for by itself', async (t) => {
  const { request, upload: put, one } = await fixture(t);
  const cast = castOf([
    [0.1, 'o', '\u001B[31mgrüße\u001B[0m \u{1F600}\r\n'],
    [1.5, 'r', '100x30'],
  ]);

  const first = await put({ cast, description: descriptionOf({ command: 'tail -f log', truncated: true }) });
  const again = await put({ id: first.id, cast: castOf([[0, 'o', 'something else']]) });
  const { data, status } = await request('GET', `/ssh_recordings/${first.id}`);
  const list = await request('GET', '/ssh_recordings');

  t.deepEqual(
    [first.status, first.data, again.status, again.data, status],
    [201, { id: first.id }, 200, { id: first.id }, 200],
  );
  t.true(
    (SshRecordingResource as typeof SshRecordingResource & { strict(): typeof SshRecordingResource })
      .strict()
      .safeParse(data).success,
  );
  const { inserted_at: insertedAt, ...shown } = data;
  t.deepEqual(shown, {
    id: first.id,
    node_id: one.id,
    cluster_name: 'prod',
    ssh_username_id: descriptionOf().ssh_username_id,
    username: 'ada',
    command: 'tail -f log',
    started_at: '2026-01-01T00:00:00.000Z',
    duration_ms: 1_500,
    width: 80,
    height: 24,
    truncated: true,
    size_bytes: Buffer.byteLength(cast),
    cast,
  });
  t.deepEqual([list.total, list.rows], [1, [{ ...shown, inserted_at: insertedAt, cast: null }]]);
});

test("only the token of a node brings one in, and nobody else's recording is replaced", async (t) => {
  const { request, upload: put, one, two } = await fixture(t);
  const { id } = await put();

  const refused = [
    await put({}, null),
    await put({}, 'no-such-token'),
    await put({}, ADMIN_KEYS.MASTER_KEY),
    await put({}, ADMIN_KEYS.API_KEY),
  ];
  const taken = await put({ id, cast: castOf([[0, 'o', 'forged']]) }, two.token);
  await request('DELETE', `/nodes/${one.id}`);
  const deleted = await put();
  const { data, status } = await request('GET', `/ssh_recordings/${id}`);

  t.deepEqual(
    refused.map((answer) => [answer.status, answer.error?.code, answer.headers.get('www-authenticate')]),
    refused.map(() => [401, 'unauthorized', 'Bearer']),
  );
  t.deepEqual([taken.status, taken.error?.code], [409, 'conflict']);
  t.is(deleted.status, 401);
  t.deepEqual([status, data['cast'], data['cluster_name']], [200, castOf(), 'prod'], 'it outlives its node');
});

test('what is no recording is refused, each with its reason, and nothing of it is kept', async (t) => {
  const { request, upload: put } = await fixture(t);
  const gzipped = gzipSync(castOf());
  const bomb = gzipSync(Buffer.concat([Buffer.from(castOf()), Buffer.alloc(64 * 1_048_576)]));
  const problem = async (told: Upload) => {
    const { status, error } = await put(told);
    return [status, error?.code, ...Object.values(error?.details ?? {}).flat()];
  };

  const invalid = 'must be an asciicast, version 2, in UTF-8';
  t.deepEqual(await problem({ body: bomb }), [413, 'payload_too_large'], `${bomb.length} bytes that unpack to 64 MiB`);
  t.deepEqual(await problem({ body: randomBytes(BYTES_MAX + RECORDING_SLACK_BYTES + 1) }), [413, 'payload_too_large']);
  t.deepEqual(await problem({ cast: castOf([[0, 'o', 'x'.repeat(BYTES_MAX + RECORDING_SLACK_BYTES)]]) }), [
    413,
    'payload_too_large',
  ]);
  t.deepEqual(await problem({ body: Buffer.from(castOf()) }), [422, 'validation_failed', 'must be gzip']);
  t.deepEqual(await problem({ body: gzipped.subarray(0, -9) }), [422, 'validation_failed', 'must be gzip']);
  t.deepEqual(await problem({ body: Buffer.alloc(0) }), [422, 'validation_failed', 'must be gzip']);
  for (const cast of [
    '',
    'not json\n',
    '[]\n',
    '{"version":1,"width":80,"height":24}\n',
    '{"version":2,"width":80}\n',
    `${' '.repeat(100_000)}\n${castOf()}`,
  ])
    t.deepEqual(await problem({ cast }), [422, 'validation_failed', invalid], cast.slice(0, 40));
  for (const garbage of [Buffer.from([0xff]), Buffer.from('é').subarray(0, 1)])
    t.deepEqual(await problem({ body: gzipSync(Buffer.concat([Buffer.from(castOf()), garbage])) }), [
      422,
      'validation_failed',
      invalid,
    ]);
  t.deepEqual((await problem({ type: 'application/json' })).slice(0, 2), [415, 'unsupported_media_type']);
  t.deepEqual((await problem({ id: 'no-uuid' })).slice(0, 2), [422, 'validation_failed']);
  for (const description of [
    '',
    'e30',
    Buffer.from('{').toString('base64url'),
    'A'.repeat(6_145),
    Buffer.from(JSON.stringify({ ...descriptionOf(), username: 'nul\0' })).toString('base64url'),
    Buffer.from(JSON.stringify({ ...descriptionOf(), node_id: randomUUID() })).toString('base64url'),
  ]) {
    t.deepEqual((await problem({ description })).slice(0, 2), [422, 'validation_failed'], description.slice(0, 40));
  }
  t.is((await request('GET', '/ssh_recordings')).total, 0);
  t.is((await put()).status, 201, 'and those that are in order come in after all of that');
});

test('the longest recording that the settings allow comes in', async (t) => {
  const { upload: put, request } = await fixture(t);
  const noise = randomBytes(BYTES_MAX / 2).toString('hex');

  const { status, id } = await put({
    cast: castOf([[0, 'o', noise]]),
    description: descriptionOf({ command: '\u0000"\\ é'.repeat(1_000) }),
  });

  t.is(status, 201);
  const { data } = await request('GET', `/ssh_recordings/${id}`);
  t.is(data['cast'], castOf([[0, 'o', noise]]));
  t.is(data['command'], '\uFFFD"\\ é'.repeat(1_000).slice(0, 512));
});

test('a node sends one at a time, and whoever is too slow does not keep another one out', async (t) => {
  const { admin, upload: put, one, two } = await fixture(t);
  const slow = drip(t, admin.url, one.token);

  let busy = await put();
  await until('the slow one to be inside', async () => (busy = await put()).status === 503);
  const other = await put({}, two.token);
  slow.end();
  await until('its place to be free', async () => (await put()).status === 201);

  t.deepEqual([busy.error?.code, busy.headers.get('retry-after'), other.status], ['service_unavailable', '2', 201]);
});

test('lists are filtered and sorted', async (t) => {
  const { request, upload: put, one, two } = await fixture(t);
  const shell = (await put({ description: descriptionOf({ username: 'ada', duration_ms: 9_000 }) })).id;
  const command = (
    await put(
      {
        description: descriptionOf({ username: 'eve', command: 'id', duration_ms: 10, ssh_username_id: randomUUID() }),
      },
      two.token,
    )
  ).id;
  const cut = (
    await put({
      description: descriptionOf({
        username: 'adam',
        truncated: true,
        duration_ms: 500,
        started_at_ms: Date.UTC(2026, 1, 1),
      }),
    })
  ).id;
  const listed = async (query: string) => (await request('GET', `/ssh_recordings?${query}`)).rows.map(({ id }) => id);

  t.deepEqual(await listed(''), [cut, command, shell]);
  t.deepEqual(await listed(`node_id__in=${one.id}`), [cut, shell]);
  t.deepEqual(await listed('username=ad*&sort=duration_ms'), [cut, shell]);
  t.deepEqual(await listed('username__in=eve,nobody'), [command]);
  t.deepEqual(
    await listed(`ssh_username_id__in=${descriptionOf().ssh_username_id}&has_command=false&truncated=false`),
    [shell],
  );
  t.deepEqual(await listed('cluster_name=prod&duration_ms__gte=10&duration_ms__lte=500&sort=started_at'), [
    command,
    cut,
  ]);
  t.deepEqual(await listed('started_at__gte=2026-01-15'), [cut]);
  t.is((await request('GET', '/ssh_recordings?cast=x')).status, 400);
});

test('one that is deleted is gone, and what is kept is not compressed a second time', async (t) => {
  const fleet = await fixture(t);
  const { request, upload: put } = fleet;
  const [first, second] = [await put(), await put()];

  t.is((await request('DELETE', `/ssh_recordings/${first.id}`)).status, 204);
  t.is((await request('DELETE', `/ssh_recordings/${first.id}`)).status, 404);
  t.is((await request('GET', `/ssh_recordings/${first.id}`)).status, 404);
  t.deepEqual(
    (await request('GET', '/ssh_recordings')).rows.map(({ id }) => id),
    [second.id],
  );
  t.deepEqual(
    await rows(
      t,
      fleet,
      `select attstorage from pg_attribute where attrelid = 'ssh_recording'::regclass and attname = 'content'`,
    ),
    [{ attstorage: 'e' }],
  );
});

test('a large one is read over REST, tRPC and MCP, also by several at once', async (t) => {
  const { admin, request, upload: put } = await fixture(t, { SSH_RECORDING_MAX_BYTES: '4194304' });
  const line = `\u001B[1m${'ü"\\'.repeat(20)}\u001B[0m\r\n`;
  const cast = castOf(
    Array.from({ length: 20_000 }, (_, index): [number, string, string] => [index / 100, 'o', line]),
  ).slice(0, 4_194_304);
  const { id, status } = await put({ cast });
  t.is(status, 201);

  const read = async () => (await request('GET', `/ssh_recordings/${id}`)).data['cast'];
  const trpc = await fetch(
    `${admin.url}/api/trpc/get_ssh_recording?input=${encodeURIComponent(JSON.stringify({ id }))}`,
    { headers: { authorization: `Bearer ${ADMIN_KEYS.API_KEY}` } },
  );
  const mcp = await fetch(`${admin.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${ADMIN_KEYS.MCP_KEY}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_ssh_recording', arguments: { id } },
    }),
  });

  for (const text of await Promise.all(Array.from({ length: 8 }, read))) t.true(text === cast);
  t.true(((await trpc.json()) as { result: { data: { cast: string } } }).result.data.cast === cast);
  const answer =
    (await mcp.text()).split('\n').find((text) => text.startsWith('data: {') || text.startsWith('{')) ?? '';
  t.true(
    (JSON.parse(answer.replace('data: ', '')) as { result: { structuredContent: { cast: string } } }).result
      .structuredContent.cast === cast,
  );
});

test('a node stores no recording under the user of another node, and one under its own', async (t) => {
  const { request, upload: put, one, two } = await fixture(t);
  const { data: user } = await request('POST', `/nodes/${one.id}/ssh_usernames`, {
    username: 'ada',
    password: 'a password of the tests',
  });
  const description = descriptionOf({ ssh_username_id: String(user['id']) });

  const foreign = await put({ description }, two.token);
  const own = await put({ description }, one.token);

  t.deepEqual(
    [foreign.status, foreign.error?.code, foreign.error?.details],
    [422, 'validation_failed', { 'x-edge-recording': ['ssh_username_id: is a user of another node'] }],
  );
  t.is(own.status, 201);
  t.deepEqual(
    (await request('GET', '/ssh_recordings')).rows.map(({ id }) => id),
    [own.id],
  );
});

/**
 * Begins an upload that goes no further, again while there is no place for it: the honest one may have had the last.
 */
function drip(t: ExecutionContext, url: string, token: string): { isCut(): boolean; end(): void } {
  let sent: ClientRequest;
  const begin = (): void => {
    sent = send(`${url}${RECORDING_PATH}${randomUUID()}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/gzip', 'content-length': 60_000 },
    });
    sent
      .on('error', () => {})
      .on('response', (response) => {
        response.resume();
        if (response.statusCode === 503) begin();
      })
      .write('x');
  };
  begin();
  const end = (): void => void sent.destroy();
  t.teardown(end);
  return { isCut: () => sent.destroyed || sent.socket?.destroyed === true, end };
}

test('uploads that drip make room for the next node when all places are taken', async (t) => {
  const { admin, enroll, request } = await startFleet(t, { SSH_RECORDING_MAX_BYTES: String(BYTES_MAX) });
  await request('POST', '/clusters', { name: 'prod' });
  const {
    data: { key },
  } = await request('POST', '/clusters/prod/enrollment_keys', { uses_remaining: null });
  const tokens: string[] = [];
  for (let count = 0; count <= 8; count += 1)
    tokens.push(String((await enroll(String(key), { node_id: randomUUID() })).data['api_token']));
  const honest = tokens.pop() ?? '';
  const slow = tokens.map((token) => drip(t, admin.url, token));
  const isTaken = await until('all places are taken', async () => (await upload(admin.url, honest)).status === 503);

  const { status } = await until(
    'there is room',
    async () => {
      const answered = await upload(admin.url, honest);
      return answered.status === 503 ? null : answered;
    },
    15_000,
  );

  t.true(isTaken);
  t.is(status, 201);
  t.is(slow.filter((upload) => upload.isCut()).length, 1, 'one of them, and no more');
});
