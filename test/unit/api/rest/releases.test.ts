/** Downloads of releases: whoever stands still loses his place, and places are counted by the client's address. */
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { Downloads } from '../../../../transport/releases/downloads.ts';
import { SOURCE_DOWNLOADS_MAX } from '../../../../transport/releases/pace.ts';
import { createMirror } from '../../../../transport/releases/mirror.ts';
import { fileTarget, RELEASE_CHUNK_BYTES } from '../../../../transport/protocol/releases.ts';
import { serveApi } from '../../../support/api/fakes.ts';
import { memoryReleaseRows } from '../../../support/releases/release-rows.ts';
import { until } from '../../../support/until.ts';

/** A download that stands still so long is cut, in ms: 30 s where no test is. */
const STALL_MS_MAX = 300;

const PATH = `/releases/targets/${fileTarget('a'.repeat(64))}`;

/** An API with one file of so many bytes, which goes out at this rate. */
async function serve(t: ExecutionContext, { bytes, rate }: { readonly bytes: number; readonly rate: number }) {
  const rows = {
    ...memoryReleaseRows(),
    target: async () => ({ sha256: 'a'.repeat(64), bytes }),
    chunk: async () => Buffer.alloc(RELEASE_CHUNK_BYTES),
  };
  const monotonicMs = () => performance.now();
  const downloads = new Downloads(rows, rate, monotonicMs);
  const mirror = createMirror({ RELEASES_BYTES_MAX: 1, RELEASE_DOWNLOAD_BYTES_PER_SECOND: rate }, rows, monotonicMs);
  const releases = {
    ...mirror,
    find: (path: string) => downloads.find(path),
    enter: (source: string) => downloads.enter(source),
  };
  const { url } = await serveApi(t, {
    ports: { releases },
    settings: { trustedProxies: ['127.0.0.1'], releaseStallMsMax: STALL_MS_MAX },
  });
  return { url, downloads };
}

/** Asks for the file as this client of a proxy, and takes nothing of it. */
function begin(t: ExecutionContext, url: string, client: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  t.teardown(() => void socket.destroy());
  socket.on('error', () => {}).pause();
  socket.write(`GET ${PATH} HTTP/1.1\r\nHost: ${hostname}\r\nX-Forwarded-For: ${client}\r\n\r\n`);
  return socket;
}

test('one that takes nothing for a while is cut and counted, one that waits for its turn is not', async (t) => {
  const still = await serve(t, { bytes: 256 * 1_048_576, rate: 1_073_741_824 });
  begin(t, still.url, '203.0.113.1');

  await until('it is cut', () => still.downloads.counters.cut === 1);
  await until('its place is free', () => still.downloads.counters.active === 0);

  // Each write of 65,536 bytes has its turn half a second after the one before.
  const slow = await serve(t, { bytes: 5 * 65_536, rate: 131_072 });
  const beganMs = performance.now();
  const answer = await fetch(slow.url + PATH);
  t.is((await answer.arrayBuffer()).byteLength, 5 * 65_536);
  t.true(performance.now() - beganMs > 2 * STALL_MS_MAX, 'it waited for longer than a download may stand still');
  t.is(slow.downloads.counters.cut, 0);
});

test('one client behind a trusted proxy has its own places, and another one has others', async (t) => {
  const { url, downloads } = await serve(t, { bytes: 1_073_741_824, rate: 1_048_576 });
  for (let place = 0; place < SOURCE_DOWNLOADS_MAX; place += 1) begin(t, url, '203.0.113.1');
  await until('all places of one client are taken', () => downloads.counters.active === SOURCE_DOWNLOADS_MAX);

  const more = await fetch(url + PATH, { headers: { 'x-forwarded-for': '203.0.113.1' } });
  begin(t, url, '198.51.100.1');

  t.deepEqual([more.status, more.headers.get('retry-after')], [503, '5']);
  await until('another client has a place', () => downloads.counters.active === SOURCE_DOWNLOADS_MAX + 1);
});

test('clients that ask and hang up hold up nobody, and what they did not get is not counted', async (t) => {
  // Each write of 65,536 bytes has its turn half a second after the one before.
  const { url, downloads } = await serve(t, { bytes: 4 * 65_536, rate: 131_072 });
  const hasty = Array.from({ length: SOURCE_DOWNLOADS_MAX }, () => begin(t, url, '203.0.113.1'));
  await until('all of them have a place', () => downloads.counters.started === SOURCE_DOWNLOADS_MAX);
  for (const socket of hasty) socket.destroy();
  await until('they left', () => downloads.counters.active === 0);
  const before = downloads.counters.bytes;

  const answer = await fetch(url + PATH, { headers: { 'x-forwarded-for': '203.0.113.1' } });

  t.is((await answer.arrayBuffer()).byteLength, 4 * 65_536);
  t.is(downloads.counters.bytes - before, 4 * 65_536);
  t.is(downloads.counters.cut, 0);
});
