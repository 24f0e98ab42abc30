/** Events by webhook, end to end: a whole admin, real receivers. */
import { createServer, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { ADMIN_KEYS, startTestAdmin } from '../../support/admin.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { until } from '../../support/until.ts';

async function receiver(t: ExecutionContext, status = 204) {
  const seen: { readonly headers: IncomingMessage['headers']; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      seen.push({ headers: request.headers, body });
      return response.writeHead(status).end('thanks');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

test('an event that someone subscribed to arrives, signed, and stands in the log', async (t) => {
  const admin = await startTestAdmin(t, { WEBHOOK_ALLOW_PRIVATE_IPS: 'true' });
  const rest = restClient(() => admin.url, ADMIN_KEYS.MASTER_KEY);
  const { seen, url } = await receiver(t);

  const webhook = await rest.post<{ readonly id: string }>('/webhooks', {
    url,
    secret: 'secret-of-the-webhook',
    subscribed_events: ['edge.core.test'],
  });
  const event = await rest.post<{ readonly id: string }>('/events/test', {});
  await until('it arrives', () => seen.length === 1);

  t.is((JSON.parse(seen[0]?.body ?? '') as { id: string }).id, event.id);
  const [delivery] = await until('it is logged', async () => {
    const rows = await rest.get<{ readonly status: string; readonly id: string; readonly event_id: string }[]>(
      `/webhook_deliveries?webhook_id__in=${webhook.id}`,
    );
    return rows[0]?.status === 'delivered' ? rows : null;
  });
  t.like(delivery, { event_id: event.id, attempt_count: 1, last_status_code: 204 });
});
