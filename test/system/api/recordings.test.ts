/** Recordings of SSH sessions, through a whole admin: shown, listed, read on every surface, and deleted. */
import { randomUUID } from 'node:crypto';
import ava from 'ava';
import { Client } from 'pg';
import { SshRecordingResource } from '../../../actors/resources/ssh.ts';
import { ADMIN_KEYS } from '../../support/admin.ts';
import { currentClient } from '../../support/api/mcp-clients.ts';
import { httpClient } from '../../support/api/trpc-clients.ts';
import { castOf, descriptionOf } from '../../support/ssh/casts.ts';
import { recordingFixtures } from './recording-fixture.ts';
import { column } from '../../support/database/columns.ts';

const { serial: test } = ava;

const fixture = recordingFixtures(ava, 4_194_304);

test('a recording is stored once however often it comes, and shown with its text only when it is asked for by itself', async (t) => {
  const { request, upload: put, one, cluster, list } = await fixture();
  const cast = castOf([
    [0.1, 'o', '\u001B[31mgrüße\u001B[0m \u{1F600}\r\n'],
    [1.5, 'r', '100x30'],
  ]);

  const first = await put({ cast, description: descriptionOf({ command: 'tail -f log', truncated: true }) });
  const again = await put({ id: first.id, cast: castOf([[0, 'o', 'something else']]) });
  const { data, status } = await request('GET', `/ssh_recordings/${first.id}`);
  const listed = await list();

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
    node_id: one.node_id,
    cluster_name: cluster,
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
  t.deepEqual([listed.total, listed.rows], [1, [{ ...shown, inserted_at: insertedAt, cast: null }]]);
});

test('lists are filtered and sorted', async (t) => {
  const { request, upload: put, one, two, list } = await fixture();
  const shell = (await put({ description: descriptionOf({ username: 'ada', duration_ms: 9_000 }) })).id;
  const command = (
    await put(
      {
        description: descriptionOf({ username: 'eve', command: 'id', duration_ms: 10, ssh_username_id: randomUUID() }),
      },
      two.api_token,
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
  const listed = async (query: string) => (await list(query)).rows.map(({ id }) => id);

  t.deepEqual(await listed(''), [cut, command, shell]);
  t.deepEqual(await listed(`node_id__in=${one.node_id}`), [cut, shell]);
  t.deepEqual(await listed('username=ad*&sort=duration_ms'), [cut, shell]);
  t.deepEqual(await listed('username__in=eve,nobody'), [command]);
  t.deepEqual(
    await listed(`ssh_username_id__in=${descriptionOf().ssh_username_id}&has_command=false&truncated=false`),
    [shell],
  );
  t.deepEqual(await listed('duration_ms__gte=10&duration_ms__lte=500&sort=started_at'), [command, cut]);
  t.deepEqual(await listed('started_at__gte=2026-01-15'), [cut]);
  t.is((await request('GET', '/ssh_recordings?cast=x')).status, 400);
});

test('one that is deleted is gone, and what is kept is not compressed a second time', async (t) => {
  const { admin, request, upload: put, list } = await fixture();
  const [first, second] = [await put(), await put()];

  t.is((await request('DELETE', `/ssh_recordings/${first.id}`)).status, 204);
  t.is((await request('DELETE', `/ssh_recordings/${first.id}`)).status, 404);
  t.is((await request('GET', `/ssh_recordings/${first.id}`)).status, 404);
  t.deepEqual(column((await list()).rows, 'id'), [second.id]);
  const client = new Client(admin.database);
  await client.connect();
  t.teardown(() => client.end());
  const { rows } = await client.query(
    `select attstorage from pg_attribute where attrelid = 'ssh_recording'::regclass and attname = 'content'`,
  );
  t.deepEqual(rows, [{ attstorage: 'e' }]);
});

test('a large one is read over REST, tRPC and MCP, also by several at once', async (t) => {
  const { admin, request, upload: put } = await fixture();
  const line = `\u001B[1m${'ü"\\'.repeat(20)}\u001B[0m\r\n`;
  const cast = castOf(
    Array.from({ length: 20_000 }, (_, index): [number, string, string] => [index / 100, 'o', line]),
  ).slice(0, 4_194_304);
  const { id, status } = await put({ cast });
  t.is(status, 201);

  const read = async () => (await request('GET', `/ssh_recordings/${id}`)).data['cast'];
  const texts = await Promise.all(Array.from({ length: 8 }, read));
  texts.push((await httpClient(admin.url, ADMIN_KEYS.API_KEY).get_ssh_recording.query({ id })).cast);
  const mcp = await currentClient(t, admin.url, ADMIN_KEYS.MCP_KEY);
  const answer = await mcp.call('get_ssh_recording', { id });
  texts.push((answer.structuredContent as { readonly cast: string }).cast);

  for (const text of texts) t.true(text === cast);
});
