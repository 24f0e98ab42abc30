/** What the page for integrators shows in TypeScript: by the published client, run by Node as they are. */

/** Reads nodes, runs a script on them and prints what each of them said. */
export const FLEET_TS = `import { setTimeout as wait } from 'node:timers/promises';
import { createClient, refusalOf } from '@edge-fleet-control/client';

const api = createClient({
  url: process.env.EDGE_URL ?? 'http://127.0.0.1:44000',
  key: process.env.EDGE_API_KEY ?? null,
});

try {
  const { data: nodes } = await api.list_nodes.query({ status__in: ['healthy'], page_size: 100 });
  const names = new Map(nodes.map(({ id, name }) => [id, name]));
  console.log(\`healthy: \${nodes.length}\`);

  let command = await api.create_command.mutate({
    command_text: 'echo hello from $(uname -s)',
    targeting: { type: 'nodes', node_ids: [...names.keys()] },
    timeout: 60_000,
  });
  while (command.summary.pending + command.summary.sent > 0) {
    await wait(500);
    command = await api.get_command.query({ id: command.id });
  }

  const { data: executions } = await api.list_command_executions.query({ command_id__in: [command.id], page_size: 100 });
  for (const { node_id, exit_code, output } of executions)
    console.log(\`\${names.get(node_id)}: \${(output ?? '').trimEnd()} (exit \${exit_code})\`);
} catch (error) {
  const refusal = refusalOf(error);
  console.error(refusal === null ? String(error) : \`\${refusal.code}: \${refusal.message} \${JSON.stringify(refusal.details)}\`);
  process.exitCode = 1;
}
`;

/** Prints events as they happen, over any number of lost connections. */
export const EVENTS_TS = `import { createLiveClient, subscribePatiently } from '@edge-fleet-control/client';
import type { EventsMessage } from '@edge-fleet-control/client/api';

const live = createLiveClient({
  url: process.env.EDGE_URL ?? 'http://127.0.0.1:44000',
  key: process.env.EDGE_API_KEY ?? null,
});

subscribePatiently<EventsMessage>(
  (handlers, lastEventId) =>
    live.api.events.watch.subscribe({ types: ['edge.node.status_changed', 'edge.core.test'], lastEventId }, handlers),
  {
    data(message) {
      if (message.type === 'started') return console.log('following');
      for (const event of message.events)
        console.log(event.type, event.type === 'edge.node.status_changed' ? event.data.status : event.id);
    },
    failed(error) {
      console.error(String(error));
      process.exitCode = 1;
      live.close();
    },
  },
);
`;

/** Receives deliveries of a webhook. */
export const RECEIVER_TS = `import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { verifyDelivery } from '@edge-fleet-control/client/webhooks';

const secret = process.env.WEBHOOK_SECRET ?? '';

createServer(async (request, response) => {
  const verified = verifyDelivery({ secret, headers: request.headersDistinct, body: await buffer(request) });
  response.writeHead(verified.ok ? 204 : 401).end();
  if (verified.ok) console.log(verified.event.type, verified.event.id);
}).listen(Number(process.env.PORT ?? 8080));
`;
