/**
 * The floor of a live feed: a change of nodes' status and its events are committed by one statement, then one prepared
 * text goes to every subscriber over bare `ws`. No filters, no snapshots of state, no resumption, no back-pressure.
 */
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { WebSocketServer } from 'ws';
import type { DatabasePlace } from '../fleet/database.ts';
import { nodeId } from '../fleet/nodes.ts';
import { nowMs } from '../method/clock.ts';
import { serveQuestions } from '../method/worker.ts';

const CHANGED = `with events as (insert into event (id, type, subject, time, data) select v.id, 'edge.node.status_changed', v.node, now(), v.data
    from unnest($1::uuid[], $2::uuid[], string_to_array($3, E'\\n')::json[]) as v(id, node, data))
  update node as n set status = $4, updated_at = now(), last_seen_at = now() from unnest($2::uuid[]) as v(node) where n.id = v.node`;

/** Fields of a node's event snapshot that do not change here. Source: docs/events.md. */
const SNAPSHOT = {
  cluster_name: 'bench-0',
  version: '1.0.0',
  id_type: 'persistent',
  http_port: 44_000,
  ssh_port: 40_022,
  host_metrics_port: 49_100,
  wireguard_metrics_port: 49_586,
  http_proxy_port: 43_128,
  socks5_proxy_port: 41_080,
  self_update_enabled: false,
  last_seen_at: new Date().toISOString(),
  inserted_at: new Date().toISOString(),
  updated_at: new Date().toISOString(),
};

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
let client: Client;
let position = 0;
let status = 'healthy';

server.on('connection', (socket) => {
  socket.on('error', () => undefined); // its close follows
  socket.on('message', () => socket.send(message({ type: 'snapshot', page: 1, pages: 1, total: 0, nodes: [] })));
});

function message(data: object): string {
  position += 1;
  const id = `floor:${position}`;
  return JSON.stringify({ id: 1, result: { type: 'data', id, data: { id, data } } });
}

serveQuestions({
  start: async (place: DatabasePlace) => {
    client = new Client({ ...place, options: '-c plan_cache_mode=force_custom_plan' });
    await client.connect();
    return (server.address() as AddressInfo).port;
  },
  /** Nodes from … to - 1 change. Answers when it began: Unix time in ms. */
  flip: async ({ from, to }: { from: number; to: number }) => {
    const began = nowMs();
    status = status === 'healthy' ? 'unhealthy' : 'healthy';
    const nodes = Array.from({ length: to - from }, (_, index) => nodeId(from + index));
    const ids = nodes.map(() => randomUUID());
    const data = nodes.map((id) => JSON.stringify({ node_id: id, ...SNAPSHOT, status, previous_status: 'healthy' }));
    await client.query({
      name: 'changed',
      text: CHANGED,
      values: [`{${ids.join(',')}}`, `{${nodes.join(',')}}`, data.join('\n'), status],
    });
    const text = Buffer.from(
      message({
        type: 'changed',
        nodes: nodes.map((id) => ({ id, status, updated_at: SNAPSHOT.updated_at })),
        removed: [],
      }),
    );
    for (const socket of server.clients) socket.send(text, { binary: false });
    return began;
  },
});
