/** Clients that ask for the metrics of nodes and do not take them. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import test from 'ava';
import { ok } from '../../../../actors/refusal.ts';
import { until } from '../../../support/until.ts';
import { KEYS, serveApi, SOME_ID } from '../../../support/api/fakes.ts';

test('expositions that nobody takes are bounded together, and room is back when their clients are gone', async (t) => {
  const exposition = Buffer.alloc(50_331_648, '\n');
  const none = async () => {
    throw new Error('not asked');
  };
  const { url, request } = await serveApi(t, {
    ports: { nodeMetrics: { raw: async () => ok({ text: exposition, gzip: null }), host: none, agent: none } },
  });
  const path = `/api/v1/nodes/${SOME_ID}/metrics/host/raw`;
  const headers = { authorization: `Bearer ${KEYS.metrics}` };
  const slow = Array.from({ length: 3 }, () => httpRequest(url + path, { headers }));
  for (const one of slow) one.end();
  await Promise.all(slow.map((one) => once(one, 'response')));

  const refused = await request('GET', path, { headers });
  for (const one of slow) one.on('error', () => {}).destroy();
  const status = async () => {
    const response = await fetch(url + path, { headers });
    await response.body?.cancel();
    return response.status;
  };
  await until('room for another', async () => (await status()) === 200);

  t.deepEqual(
    [refused.status, refused.body?.error?.code, refused.headers.get('retry-after')],
    [503, 'service_unavailable', '1'],
  );
});
