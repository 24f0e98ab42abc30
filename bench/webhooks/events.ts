/** Events put straight into the outbox, as a busy fleet would leave them there. */
import type { Client } from 'pg';

/** Snapshot of a node, some 400 bytes as events of nodes are. */
const DATA = `jsonb_build_object('node_id', s.id, 'cluster_name', 'bench', 'status', 'healthy', 'version', '0.1.0', 'id_type', 'persistent', 'http_port', 44000, 'ssh_port', 40022, 'host_metrics_port', 49100,
  'wireguard_metrics_port', 49586, 'http_proxy_port', 43128, 'socks5_proxy_port', 41080, 'self_update_enabled', true, 'last_seen_at', null, 'inserted_at', '2026-01-15T10:00:00.000Z', 'updated_at', '2026-01-15T10:00:00.000Z', 'previous_status', 'unhealthy')`;

/** Stores so many `edge.node.status_changed` of a thousand nodes, in one transaction, with the time of now. */
export async function storeEvents(client: Client, count: number): Promise<void> {
  await client.query(
    `insert into event (id, type, subject, time, data)
    select gen_random_uuid(), 'edge.node.status_changed', s.id, clock_timestamp(), ${DATA}::json
    from generate_series(1, $1::int) n, lateral (select ('00000000-0000-7000-8000-' || lpad(to_hex((n + floor(random() * 1000))::int % 1000), 12, '0'))::uuid as id) s`,
    [count],
  );
}

/** A body of the usual size, for the floor. */
export async function sampleBody(client: Client): Promise<string> {
  const { rows } = await client.query<{ data: string }>('select data::text as data from event limit 1');
  return `{"specversion":"1.0","id":"00000000-0000-4000-8000-000000000000","source":"/edge-fleet-control","type":"edge.node.status_changed","time":"${new Date().toISOString()}","datacontenttype":"application/json","corename":"default","data":${rows[0]?.data ?? '{}'}}`;
}
