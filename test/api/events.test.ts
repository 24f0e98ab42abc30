/** The event catalogue. */
import test from 'ava';
import { z } from 'zod';
import { eventCatalogue, explainEventType } from '../../actors/event-catalogue.ts';
import { EVENT_TYPES } from '../../actors/events.ts';
import { EventTypeView } from '../../api/views/event.ts';
import { serveApi, type Reply } from './fakes.ts';

/** Fields of each example, by the event tables of the spec. */
const NODE_FIELDS = ['node_id', 'cluster_name', 'status', 'version', 'id_type', 'http_port', 'ssh_port', 'host_metrics_port', 'wireguard_metrics_port', 'http_proxy_port', 'socks5_proxy_port', 'self_update_enabled', 'last_seen_at', 'inserted_at', 'updated_at'];
const EXTRA: Readonly<Record<string, readonly string[]>> = {
  'edge.node.version_changed': ['previous_version'],
  'edge.node.status_changed': ['previous_status'],
  'edge.node.cluster_changed': ['previous_cluster_name'],
  'edge.node.update_triggered': ['self_update_request_id'],
};
const EXECUTION_FIELDS = ['command_execution_id', 'command_id', 'node_id', 'cluster_name', 'command_text', 'timeout', 'status', 'exit_code', 'target_all', 'expired_at', 'sent_at', 'completed_at', 'cancelled_at', 'inserted_at', 'updated_at'];

test('every type has an entry whose example is a whole envelope of that type', (t) => {
  const types = eventCatalogue('default');

  t.deepEqual(types.map(({ type }) => type), [...EVENT_TYPES]);
  for (const entry of types) {
    t.true(EventTypeView.safeParse(entry).success, entry.type);
    t.is(entry.example.type, entry.type);
    t.true(z.uuidv4().safeParse(entry.example.id).success);
    if (entry.type.startsWith('edge.node.')) t.deepEqual(Object.keys(entry.example.data), [...NODE_FIELDS, ...EXTRA[entry.type] ?? []], entry.type);
    if (entry.type.startsWith('edge.command_execution.')) t.deepEqual(Object.keys(entry.example.data), EXECUTION_FIELDS, entry.type);
  }
});

test('the examples of executions keep to the table of states and timestamps', (t) => {
  const shape = (type: typeof EVENT_TYPES[number]) => {
    const { status, exit_code, sent_at, completed_at, cancelled_at } = explainEventType(type, 'default').example.data;
    return [status, exit_code, sent_at !== null, completed_at !== null, cancelled_at !== null];
  };

  t.deepEqual(shape('edge.command_execution.created'), ['pending', null, false, false, false]);
  t.deepEqual(shape('edge.command_execution.sent'), ['sent', null, true, false, false]);
  t.deepEqual(shape('edge.command_execution.completed'), ['completed', 0, true, true, false]);
  t.deepEqual(shape('edge.command_execution.cancelled'), ['cancelled', 143, true, false, true]);
  t.deepEqual(shape('edge.command_execution.expired'), ['expired', null, false, false, false]);
});

function typesOf({ body }: Reply): readonly string[] {
  const rows = (body?.data ?? []) as unknown as readonly { readonly type: string }[];
  return rows.map(({ type }) => type);
}

test('types are listed, paged and explained, and an unknown one is not found', async (t) => {
  const { request } = await serveApi(t);

  const all = await request('GET', '/api/v1/event_types');
  const last = await request('GET', '/api/v1/event_types?sort=-type&page_size=1');

  t.deepEqual(typesOf(all), [...EVENT_TYPES]);
  t.deepEqual(typesOf(last), ['edge.ssh_username.verified']);
  t.is((await request('GET', '/api/v1/event_types/edge.core.test')).body?.data?.['type'], 'edge.core.test');
  t.is((await request('GET', '/api/v1/event_types/edge.nope')).status, 404);
});

test('a test event answers its envelope', async (t) => {
  const { request } = await serveApi(t, { operations: { coreName: 'north' } });

  const { status, body } = await request('POST', '/api/v1/events/test');

  t.is(status, 202);
  t.like(body?.data, { specversion: '1.0', type: 'edge.core.test', corename: 'north', data: { message: 'This is a test event.', requested_at: '2026-01-15T10:00:00.000Z' } });
});
