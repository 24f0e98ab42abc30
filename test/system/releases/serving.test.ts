import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { createClient } from '../../../cli/service/client.ts';
import { publishRepository } from '../../../cli/release/publish.ts';
import { RELEASE_CHUNK_BYTES, RELEASE_PIECE_BYTES_MAX, fileTarget } from '../../../transport/protocol/releases.ts';
import { ADMIN_KEYS, startTestAdmin } from '../../support/admin.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createReleases, type ReleaseFixture } from '../../support/releases/releases.ts';
import { urlOf } from '../../support/database/server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** Several chunks, the last one odd. */
const FILE_BYTES = 5 * RELEASE_CHUNK_BYTES + 777_777;

const withCurl = await peerTest('curl');

/** Three pieces of an upload, the last one odd. */
const PIECES_BYTES = 2 * RELEASE_PIECE_BYTES_MAX + FILE_BYTES;

const KEY = { authorization: `Bearer ${ADMIN_KEYS.API_KEY}` };

async function published(t: ExecutionContext, env: Readonly<Record<string, string>> = {}, bytes = FILE_BYTES) {
  const admin = await startTestAdmin(t, { RELEASE_DOWNLOAD_BYTES_PER_SECOND: '1000000000', ...env });
  const releases = await createReleases(temporaryDirectory(t));
  const content = randomBytes(bytes);
  const { files } = await releases.add({ version: '0.2.0', files: { 'edge-agent.cjs': content } });
  await releases.promote('0.2.0');
  const publish = publisher(admin.url, releases);
  await publish();
  const path = fileTarget(files[0]?.sha256 ?? '');
  return { admin, releases, publish, path, packed: readFileSync(releases.repository.pathOf(path)) };
}

function publisher(url: string, { repository }: ReleaseFixture) {
  const connection = { url, key: ADMIN_KEYS.API_KEY };
  return () => publishRepository(repository, { api: createClient(connection), connection, retryMs: 50 });
}

test('a file is served whole, in ranges and not at all where it is known', async (t) => {
  const { admin, path, packed } = await published(t);
  const url = `${admin.url}/releases/targets/${path}`;
  const get = async (headers: Record<string, string> = {}) => {
    const answer = await fetch(url, { headers });
    const body = Buffer.from(await answer.arrayBuffer());
    return { status: answer.status, body, range: answer.headers.get('content-range'), headers: answer.headers };
  };
  const whole = await get();
  const etag = whole.headers.get('etag') ?? '';
  const last = packed.length - 1;

  t.is(whole.status, 200);
  t.true(whole.body.equals(packed));
  t.is(whole.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  for (const [range, from, to] of [
    [`bytes=0-0`, 0, 0],
    [`bytes=${RELEASE_CHUNK_BYTES - 1}-${RELEASE_CHUNK_BYTES + 1}`, RELEASE_CHUNK_BYTES - 1, RELEASE_CHUNK_BYTES + 1],
    [`bytes=700000-`, 700_000, last],
    [`bytes=-5`, last - 4, last],
    [`bytes=5-99999999999`, 5, last],
  ] as const) {
    const part = await get({ range });
    t.is(part.status, 206, range);
    t.is(part.range, `bytes ${from}-${to}/${packed.length}`);
    t.true(part.body.equals(packed.subarray(from, to + 1)), range);
  }
  t.is((await get({ range: `bytes=${packed.length}-` })).status, 416);
  t.is((await get({ range: 'bytes=5-4' })).status, 200);
  t.is((await get({ range: 'bytes=0-1,3-4' })).status, 200, 'several parts are not offered');
  t.is((await get({ range: 'bytes=5-', 'if-range': '"another"' })).status, 200);
  t.is((await get({ range: 'bytes=5-', 'if-range': etag })).status, 206);
  t.is((await get({ 'if-none-match': etag })).status, 304);
  const head = await fetch(url, { method: 'HEAD' });
  t.is(head.headers.get('content-length'), String(packed.length));
  t.is(
    (await fetch(`${admin.url}/releases/targets/${path.replace('files/', `files/${etag.slice(1, -1)}.`)}`)).status,
    200,
  );
  for (const nothing of [
    'targets/../../etc/passwd',
    'targets/files/x.gz',
    'metadata/2.root.json',
    'metadata/targets.json',
    '',
  ])
    t.is((await fetch(`${admin.url}/releases/${nothing}`)).status, 404, nothing);
});

withCurl('curl goes on where it was cut', async (t) => {
  const { admin, path, packed } = await published(t);
  const file = join(temporaryDirectory(t), 'part');
  writeFileSync(file, packed.subarray(0, 1_234_567));

  await promisify(execFile)('curl', ['-fsS', '-C', '-', '-o', file, `${admin.url}/releases/targets/${path}`]);

  t.true(readFileSync(file).equals(packed));
});

test('files are brought with the key, in their order, and are served once their hash was checked', async (t) => {
  const { admin, releases } = await published(t);
  const { files } = await releases.add({ version: '0.3.0', files: { 'edge-agent.cjs': randomBytes(600_000) } });
  const [file] = files;
  const content = readFileSync(releases.repository.pathOf(fileTarget(file?.sha256 ?? '')));
  const sha256 = file?.packed_sha256 ?? '';
  const put = async (query: string, body: Buffer, headers: Record<string, string> = KEY, named = sha256) => {
    const answer = await fetch(`${admin.url}/api/v1/releases/files/${named}?${query}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream', ...headers },
      body: new Uint8Array(body),
    });
    const { data, error } = (await answer.json()) as { data?: object; error?: { message: string; details: object } };
    return { status: answer.status, data, said: error?.message, details: error?.details };
  };
  const bytes = `bytes=${content.length}`;
  const first = content.subarray(0, 2 * RELEASE_CHUNK_BYTES);
  const rest = content.subarray(2 * RELEASE_CHUNK_BYTES);

  t.is((await put(`offset=0&${bytes}`, first, {})).status, 401);
  t.is((await put(`offset=0&${bytes}`, first, { authorization: `Bearer ${ADMIN_KEYS.METRICS_KEY}` })).status, 403);
  t.is((await put(`offset=0&${bytes}`, first, KEY, 'nosuch')).status, 400);
  t.is((await put(`offset=0&${bytes}`, first.subarray(1))).status, 422, 'half a chunk');
  t.like(await put(`offset=0&${bytes}`, first), { status: 200, data: { received: first.length, is_complete: false } });
  t.like(await put(`offset=0&${bytes}`, first), {
    status: 409,
    said: `The next piece of this file begins at ${first.length}.`,
  });
  t.is((await put(`offset=${first.length}&bytes=999999`, rest.subarray(0, 5))).status, 422);
  const wrong = Buffer.from(rest);
  wrong[7] = (wrong[7] ?? 0) ^ 1;
  t.is((await put(`offset=${first.length}&${bytes}`, wrong)).status, 422, 'another file');
  t.is(
    (await fetch(`${admin.url}/api/v1/releases/files/${sha256}`, { headers: KEY })).status,
    404,
    'nothing is left of it',
  );
  await put(`offset=0&${bytes}`, first);
  t.like(await put(`offset=${first.length}&${bytes}`, rest), { status: 200, data: { is_complete: true } });
  t.is((await put(`offset=0&${bytes}`, first)).status, 200, 'once more does nothing');
  t.is(
    (await fetch(`${admin.url}/releases/targets/${fileTarget(file?.sha256 ?? '')}`)).status,
    404,
    'no metadata names it',
  );
});

test('a publish that was cut goes on where it was, and all files together have a limit', async (t) => {
  const { admin, releases, publish } = await published(
    t,
    { RELEASES_BYTES_MAX: String(3 * PIECES_BYTES) },
    PIECES_BYTES,
  );
  await releases.add({ version: '0.3.0', files: { 'edge-agent.cjs': randomBytes(PIECES_BYTES) } });
  const { fetch: real } = globalThis;
  t.teardown(() => {
    globalThis.fetch = real;
  });
  let pieces = 0;
  globalThis.fetch = (async (url: string, init: RequestInit) => {
    if (init.method === 'PUT' && (pieces += 1) === 2) throw new Error('the line is cut');
    return real(url, init);
  }) as typeof fetch;
  const connection = { url: admin.url, key: ADMIN_KEYS.API_KEY };

  const went = await publishRepository(releases.repository, { api: createClient(connection), connection, retryMs: 1 });
  await releases.add({ version: '0.4.0', files: { 'edge-agent.cjs': randomBytes(PIECES_BYTES) } });

  t.is(went.files, 2);
  await t.throwsAsync(publish(), { message: /RELEASES_BYTES_MAX/u });
});

test('metadata is refused that is older, out of date, forged, of another root or without its files', async (t) => {
  const { admin, releases, publish } = await published(t);
  const connection = { url: admin.url, key: ADMIN_KEYS.API_KEY };
  const api = createClient(connection);
  const send = (texts: ReturnType<typeof releases.repository.metadata>) =>
    api.publish_release_metadata.mutate({ ...texts, roots: [...texts.roots] });
  const older = releases.repository.metadata();
  await releases.add({ version: '0.3.0' });
  await t.throwsAsync(send(releases.repository.metadata()), {
    message: /Files that the metadata names are not here: /,
  });
  await publish();
  const newer = releases.repository.metadata();
  const stranger = (await createReleases(temporaryDirectory(t))).repository.metadata();

  const details = async (texts: typeof newer) => {
    const error = await t.throwsAsync<Error & { data: { details: { metadata: string[] } } }>(send(texts));
    return error?.data.details.metadata[0] ?? '';
  };
  t.regex(await details(older), /timestamp\.json is version 3, and version 4 was published already/u);
  t.regex(await details(stranger), /is another one than the root that is trusted/u);
  t.regex(
    await details({ ...newer, timestamp: newer.timestamp.replace(/"expires": ?"\d{4}/u, '"expires":"9999') }),
    /timestamp\.json is not signed/u,
  );
  releases.refresh({ nowMs: Date.now() - 31 * 86_400_000 });
  t.regex(await details(releases.repository.metadata()), /timestamp\.json is out of date since/u);
  t.is((await api.get_releases.query({})).metadata?.timestamp, 4, 'nothing of it was stored');
  await t.notThrowsAsync(send(newer), 'the same again is nothing new');
});

test('a release is deleted unless a channel points to it, and brought again by the next publish', async (t) => {
  const { admin, releases, publish } = await published(t);
  const api = createClient({ url: admin.url, key: ADMIN_KEYS.API_KEY });
  const { files } = await releases.add({ version: '0.3.0', files: { 'edge-agent.cjs': 'x'.repeat(1_000) } });
  await publish();
  const url = `${admin.url}/releases/targets/${fileTarget(files[0]?.sha256 ?? '')}`;

  await t.throwsAsync(api.delete_release.mutate({ version: '0.2.0' }), {
    message: /The channel stable points to 0\.2\.0/u,
  });
  await t.throwsAsync(api.delete_release.mutate({ version: '9.9.9' }), { message: 'Resource not found' });
  await api.delete_release.mutate({ version: '0.3.0' });

  const listed = await api.get_releases.query({});
  t.deepEqual(
    listed.releases.map(({ version, is_stored: stored }) => [version, stored]),
    [
      ['0.2.0', true],
      ['0.3.0', false],
    ],
  );
  t.is((await fetch(url)).status, 404);
  t.is((await publish()).files, 1);
  t.is((await fetch(url)).status, 200);
});

test('whoever leaves before the first byte gives the place back', async (t) => {
  const { admin, path } = await published(t);
  const { hostname, port } = new URL(admin.url);
  const active = async () => {
    const answer = await fetch(`${admin.url}/api/v1/admins/me/metrics/raw`, {
      headers: { authorization: `Bearer ${ADMIN_KEYS.METRICS_KEY}` },
    });
    return /^edge_admin_release_downloads (\d+)$/mu.exec(await answer.text())?.[1];
  };

  for (let left = 0; left < 100; left += 1) {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(`GET /releases/targets/${path} HTTP/1.1\r\nhost: admin\r\n\r\n`);
    if (left % 2 === 0) socket.destroy();
    else socket.resetAndDestroy();
  }

  await until('places that nobody has', async () => (await active()) === '0', 10_000);
  t.pass();
});

test('a file that was begun as one of another size is told, and not brought for ever', async (t) => {
  const { admin, releases, publish } = await published(t);
  const { files } = await releases.add({ version: '0.3.0', files: { 'edge-agent.cjs': randomBytes(600_000) } });
  const begin = await fetch(
    `${admin.url}/api/v1/releases/files/${files[0]?.packed_sha256}?offset=0&bytes=${10 * RELEASE_CHUNK_BYTES}`,
    {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream', ...KEY },
      body: new Uint8Array(RELEASE_CHUNK_BYTES),
    },
  );

  t.is(begin.status, 200);
  await t.throwsAsync(publish(), { message: /has the beginning of files\/\S+ as a file of 2621440 bytes/u });
});

test('two admins of one database serve the same', async (t) => {
  const { admin, path, packed } = await published(t);
  const other = await startTestAdmin(t, { DATABASE_URL: urlOf(admin.database), ADMIN_NAME: 'other' });

  const answer = await fetch(`${other.url}/releases/targets/${path}`);
  const timestamps = await Promise.all(
    [admin, other].map(async ({ url }) => (await fetch(`${url}/releases/metadata/timestamp.json`)).text()),
  );

  t.true(Buffer.from(await answer.arrayBuffer()).equals(packed));
  t.is(timestamps[0], timestamps[1]);
});
