/**
 * The floor of a list: `node:http`, one indexed query by the page's known boundary, `JSON.stringify`. It gives the same
 * rows and fields as the product's page, without authentication, filters, page numbers or counts.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import type { DatabasePlace } from '../fleet/database.ts';
import { serveQuestions } from '../method/worker.ts';

const NODES = `select n.id, c.name as cluster_name, n.status, n.version, n.id_type, 'node-' || n.id || '.' || c.name || '.edge.internal' as vpn_hostname, '[]'::json as aliases,
    n.http_port, n.ssh_port, n.host_metrics_port, n.wireguard_metrics_port, n.http_proxy_port, n.socks5_proxy_port, n.self_update_enabled, n.enrollment_key_id, n.last_seen_at, n.inserted_at, n.updated_at
  from node n join cluster c on c.id = n.cluster_id where (n.inserted_at, n.id) <= ($1, $2) order by n.inserted_at desc, n.id desc limit 100`;

const EXECUTIONS = `select e.id, e.command_id, e.node_id, e.cluster_name, m.command_text, m.timeout, e.status, e.exit_code, e.output, e.output_truncated, e.target_all,
    e.expired_at, e.sent_at, e.completed_at, e.cancelled_at, e.inserted_at, e.updated_at
  from command_execution e join command m on m.id = e.command_id where e.id <= $1 order by e.id desc limit 100`;

const OF_NODE = EXECUTIONS.replace('where e.id <= $1', 'where e.node_id = $1');

/** First row of a page: what a client that pages by key would send. */
const BOUNDARIES: Readonly<Record<string, string>> = {
  nodes: 'select inserted_at::text as a, id::text as b from node order by inserted_at desc, id desc limit 1 offset $1',
  command_executions: 'select id::text as a, null as b from command_execution order by id desc limit 1 offset $1',
};

let client: Client;
const boundaries = new Map<string, string[]>();

/** /nodes/3 is the third page, /node/ID the executions of that node. */
const server = createServer((request, response) => {
  const [, name = '', number = ''] = (request.url ?? '').split('/');
  const values = name === 'node' ? [number] : (boundaries.get(`${name}/${number}`) ?? []);
  void page(name, values).then((body) =>
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      .end(body),
  );
});

async function page(name: string, values: readonly string[]): Promise<string> {
  const text = name === 'nodes' ? NODES : name === 'node' ? OF_NODE : EXECUTIONS;
  const { rows } = await client.query({ name, text, values: [...values] });
  return JSON.stringify({ data: rows });
}

serveQuestions({
  start: async (place: DatabasePlace) => {
    client = new Client(place);
    await client.connect();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return (server.address() as AddressInfo).port;
  },
  /** Finds the boundary of a page, untimed. */
  prepare: async ({ name, page }: { name: string; page: number }) => {
    const {
      rows: [row],
    } = await client.query<{ a: string; b: string | null }>(BOUNDARIES[name] ?? '', [(page - 1) * 100]);
    boundaries.set(`${name}/${page}`, row === undefined ? [] : [row.a, ...(row.b === null ? [] : [row.b])]);
  },
});
