/**
 * Recordings of SSH sessions as nodes bring them to a whole admin: which are taken, from whom, and how many at once.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import ava from 'ava';
import { RECORDING_SLACK_BYTES, RECORDING_TEXT_BYTES_MAX } from '../../../transport/protocol/recording.ts';
import { ADMIN_KEYS } from '../../support/admin.ts';
import { castOf, descriptionOf, upload, type Upload } from '../../support/ssh/casts.ts';
import { until } from '../../support/until.ts';
import { BYTES_MAX, drip, recordingFixtures } from './recording-fixture.ts';
import { column } from '../../support/database/columns.ts';

const { serial: test } = ava;

/** The longest that the settings may ever have allowed, in bytes. */
const LONGEST_BYTES = RECORDING_TEXT_BYTES_MAX + RECORDING_SLACK_BYTES;

const fixture = recordingFixtures(ava);

test("only the token of a node brings one in, and nobody else's recording is replaced", async (t) => {
  const { request, upload: put, one, two, cluster } = await fixture();
  const { id } = await put();

  const refused = [
    await put({}, null),
    await put({}, 'no-such-token'),
    await put({}, ADMIN_KEYS.MASTER_KEY),
    await put({}, ADMIN_KEYS.API_KEY),
  ];
  const taken = await put({ id, cast: castOf([[0, 'o', 'forged']]) }, two.api_token);
  await request('DELETE', `/nodes/${one.node_id}`);
  const deleted = await put();
  const { data, status } = await request('GET', `/ssh_recordings/${id}`);

  t.deepEqual(
    refused.map((answer) => [answer.status, answer.error?.code, answer.headers.get('www-authenticate')]),
    refused.map(() => [401, 'unauthorized', 'Bearer']),
  );
  t.deepEqual([taken.status, taken.error?.code], [409, 'conflict']);
  t.is(deleted.status, 401);
  t.deepEqual([status, data['cast'], data['cluster_name']], [200, castOf(), cluster], 'it outlives its node');
});

test('what is no recording is refused, each with its reason, and nothing of it is kept', async (t) => {
  const { admin, upload: put, one, list } = await fixture();
  const gzipped = gzipSync(castOf());
  const bomb = gzipSync(Buffer.concat([Buffer.from(castOf()), Buffer.alloc(LONGEST_BYTES)]));
  const problem = async (told: Upload) => {
    const { status, error } = await put(told);
    return [status, error?.code, ...Object.values(error?.details ?? {}).flat()];
  };

  const invalid = 'must be an asciicast, version 2, in UTF-8';
  t.deepEqual(
    await problem({ body: bomb }),
    [413, 'payload_too_large'],
    `${bomb.length} bytes that unpack to over 64 MiB`,
  );
  t.is(await drip(t, admin.url, one.api_token, LONGEST_BYTES + 1).answered, 413);
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
  t.is((await list()).total, 0);
  t.is((await put()).status, 201, 'and those that are in order come in after all of that');
});

test('a recording that was made while the settings allowed longer ones comes in', async (t) => {
  const { upload: put, request } = await fixture();
  const cast = castOf([[0, 'o', randomBytes(2 * BYTES_MAX).toString('hex')]]);

  const { status, id } = await put({ cast });

  t.is(status, 201);
  t.is((await request('GET', `/ssh_recordings/${id}`)).data['cast'], cast);
});

test('of recordings that are longer than the settings allow one comes in at a time, and others beside it', async (t) => {
  const { admin, upload: put, one, two } = await fixture();
  const long = { body: gzipSync(castOf([[0, 'o', randomBytes(2 * BYTES_MAX).toString('hex')]])) };
  const slow = drip(t, admin.url, one.api_token, long.body.length);

  const busy = await until('the slow one to be inside', async () => {
    const answered = await put(long, two.api_token);
    return answered.status === 503 ? answered : null;
  });
  const usual = await put({}, two.api_token);
  slow.end();
  await until('its place to be free', async () => (await put(long, two.api_token)).status === 201);

  t.deepEqual([busy.error?.code, busy.headers.get('retry-after'), usual.status], ['service_unavailable', '2', 201]);
});

test('the longest recording that the settings allow comes in', async (t) => {
  const { upload: put, request } = await fixture();
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
  const { admin, upload: put, one, two } = await fixture();
  const slow = drip(t, admin.url, one.api_token);

  let busy = await put();
  await until('the slow one to be inside', async () => (busy = await put()).status === 503);
  const other = await put({}, two.api_token);
  slow.end();
  await until('its place to be free', async () => (await put()).status === 201);

  t.deepEqual([busy.error?.code, busy.headers.get('retry-after'), other.status], ['service_unavailable', '2', 201]);
});

test('a node stores no recording under the user of another node, and one under its own', async (t) => {
  const { request, upload: put, one, two, list } = await fixture();
  const { data: user } = await request('POST', `/nodes/${one.node_id}/ssh_usernames`, {
    username: 'ada',
    password: 'a password of the tests',
  });
  const description = descriptionOf({ ssh_username_id: String(user['id']) });

  const foreign = await put({ description }, two.api_token);
  const own = await put({ description }, one.api_token);

  t.deepEqual(
    [foreign.status, foreign.error?.code, foreign.error?.details],
    [422, 'validation_failed', { 'x-edge-recording': ['ssh_username_id: is a user of another node'] }],
  );
  t.is(own.status, 201);
  t.deepEqual(column((await list()).rows, 'id'), [own.id]);
});

test('uploads that drip make room for the next node when all places are taken', async (t) => {
  const { admin, node, cluster, one } = await fixture();
  const honest = one.api_token;
  const tokens: string[] = [];
  for (let count = 0; count < 8; count += 1) tokens.push((await node(cluster)).api_token);
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
