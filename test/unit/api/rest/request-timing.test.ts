import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { createAdminMetrics } from '../../../../api/metrics/admin-metrics.ts';
import { fakeSources } from '../../../support/observability/metric-sources.ts';
import { until } from '../../../support/until.ts';
import { serveApi, SOME_ID } from '../../../support/api/fakes.ts';

test('requests are told by operation or by the pattern of their route, never by what the client wrote', async (t) => {
  const adminMetrics = createAdminMetrics(fakeSources());
  const served = await serveApi(t, { ports: { adminMetrics } });
  const told = () =>
    adminMetrics.requests
      .all()
      .map(({ surface, operation, code, durations }) => `${surface} ${operation} ${code} ${durations.count}`)
      .sort();

  await served.request('GET', '/api/v1/nodes?page_size=1');
  await served.request('GET', `/api/v1/nodes/${SOME_ID}`);
  await served.request('GET', '/api/v1/nodes/another?x=1');
  await served.request('DELETE', '/api/v1/nodes/x', { headers: { authorization: 'Bearer wrong' } });
  await served.request('PUT', '/api/v1/nodes/x');
  await served.request('GET', '/made/up');
  await served.request('GET', '/livez');

  await until(
    'all are counted',
    () => adminMetrics.requests.all().reduce((sum, { durations }) => sum + durations.count, 0) === 7,
  );
  t.deepEqual(told(), [
    'other /livez 2xx 1',
    'other unknown 4xx 2',
    'rest delete_node 4xx 1',
    'rest get_node 4xx 2',
    'rest list_nodes 2xx 1',
  ]);
});

test('what is no HTTP makes no name', async (t) => {
  const adminMetrics = createAdminMetrics(fakeSources());
  const { url } = await serveApi(t, { ports: { adminMetrics } });
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
    .on('error', () => {})
    .resume();

  socket.write('no HTTP at all\r\n\r\n');
  await once(socket, 'close');

  t.deepEqual(adminMetrics.requests.all(), []);
});
