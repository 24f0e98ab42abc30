import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import type { ClusterId, NodeId } from '../../../../transport/protocol/ids.ts';
import { castOf, upload } from '../../../support/ssh/casts.ts';
import { serveApi, SOME_ID } from '../../../support/api/fakes.ts';

const HOUR_MS = 3_600_000;
const known = { nodeByToken: async () => ({ node: SOME_ID as NodeId, cluster: SOME_ID as ClusterId }) };

test('a node that stores more than its share of an hour waits for the next one', async (t) => {
  const { url, clock } = await serveApi(t, {
    reads: known,
    settings: { recordings: { bytesMax: 65_536, nodeBytesPerHourMax: 1_000 } },
  });
  const body = gzipSync(castOf([[0, 'o', randomBytes(400).toString('base64')]]));
  t.true(body.length > 333 && body.length < 1_000);

  const statuses = [];
  for (let sent = 0; sent <= Math.ceil(1_000 / body.length); sent += 1)
    statuses.push((await upload(url, 'token', { body })).status);
  const { status, error, headers } = await upload(url, 'token', { body });
  clock.nowMs += HOUR_MS;
  const next = await upload(url, 'token', { body });

  t.deepEqual(statuses, [...Array.from({ length: statuses.length - 1 }, () => 201), 429]);
  t.deepEqual([status, error?.code, headers.get('retry-after')], [429, 'rate_limited', '3600']);
  t.is(next.status, 201);
});

test('without a database the agent is told to come again, before its body is read and after', async (t) => {
  const away = async () => {
    throw new DatabaseUnavailable('away');
  };
  const before = await serveApi(t, { reads: { nodeByToken: away } });
  const after = await serveApi(t, { reads: known, records: { storeRecording: away } });

  for (const { url, log } of [before, after]) {
    const { status, error, headers } = await upload(url, 'token');
    t.deepEqual([status, error?.code, headers.get('retry-after')], [503, 'service_unavailable', '1']);
    t.deepEqual(
      log.lines.filter(({ level }) => level !== 'debug'),
      [],
    );
  }
  t.is((await upload(after.url, 'token')).status, 503, 'its place is free again');
});
