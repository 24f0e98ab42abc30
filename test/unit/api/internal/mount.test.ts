/** Paths at which other admins come in. */
import test from 'ava';
import { createAdminMetrics } from '../../../../api/metrics/admin-metrics.ts';
import { serveApi } from '../../../support/api/fakes.ts';
import { fakeSources } from '../../../support/observability/metric-sources.ts';

const PATH = '/internal/v1/path';

test('what is taken is answered by who took it, with its body unread by anybody else, and is timed as no request', async (t) => {
  const adminMetrics = createAdminMetrics(fakeSources());
  const { api, url, log } = await serveApi(t, { ports: { adminMetrics }, settings: { bodyBytesMax: 10 } });
  api.onInternal(PATH, async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    response.end(Buffer.concat(pieces));
    return true;
  });
  const body = 'no JSON, of no type, and longer than a client may send';

  const answer = await fetch(new URL(PATH, url), { method: 'POST', body });

  t.deepEqual([answer.status, await answer.text()], [200, body]);
  t.is(answer.headers.get('x-request-id'), null);
  t.deepEqual(adminMetrics.requests.all(), []);
  t.deepEqual(
    log.lines.filter(({ message }) => message.includes('request')),
    [],
  );
});

test('what is not taken is a path that there is not, whatever its method, and so is every other path', async (t) => {
  const { api, url } = await serveApi(t);
  api.onInternal(PATH, async () => Promise.resolve(false));

  for (const path of [PATH, `${PATH}/`, `${PATH}?x`, '/internal/v1/', '/internal'])
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const answer = await fetch(new URL(path, url), { method });
      t.deepEqual(
        [answer.status, ((await answer.json()) as { error: { message: string } }).error.message],
        [404, 'No such route.'],
        `${method} ${path}`,
      );
    }
});

test('whoever should have taken it and fails is a bug, and nothing of it is told', async (t) => {
  const { api, url, log } = await serveApi(t);
  api.onInternal(PATH, async () => Promise.reject(new Error('a cause that nobody may see')));

  const answer = await fetch(new URL(PATH, url), { method: 'POST' });

  t.is(answer.status, 500);
  t.notRegex(await answer.text(), /nobody may see/u);
  t.true(log.lines.some(({ level, message }) => level === 'error' && message === 'a request failed'));
});
