/** The catalogue of events: one definition a type, exact, with an example that keeps to it. */
import test from 'ava';
import { CloudEvent } from 'cloudevents';
import { z } from 'zod';
import { envelopeOf, EVENT_DEFINITIONS, eventCatalogue, explainEventType } from '../../../actors/event-catalogue.ts';
import { Envelope, EVENT_TYPES, type EventType } from '../../../actors/events.ts';
import { column } from '../../support/database/columns.ts';

/** `data` of each type, by the published catalogue. */
const NODE_FIELDS = [
  'node_id',
  'name',
  'cluster_name',
  'status',
  'version',
  'id_type',
  'http_port',
  'ssh_port',
  'host_metrics_port',
  'wireguard_metrics_port',
  'http_proxy_port',
  'socks5_proxy_port',
  'self_update_enabled',
  'facts',
  'labels',
  'last_seen_at',
  'inserted_at',
  'updated_at',
];
const EXECUTION_FIELDS = [
  'command_execution_id',
  'command_id',
  'node_id',
  'cluster_name',
  'command_text',
  'timeout',
  'status',
  'exit_code',
  'target_all',
  'expired_at',
  'sent_at',
  'completed_at',
  'cancelled_at',
  'inserted_at',
  'updated_at',
];
const FIELDS: Readonly<Record<EventType, readonly string[]>> = {
  'edge.node.registered': NODE_FIELDS,
  'edge.node.reregistered': NODE_FIELDS,
  'edge.node.version_changed': [...NODE_FIELDS, 'previous_version'],
  'edge.node.status_changed': [...NODE_FIELDS, 'previous_status'],
  'edge.node.cluster_changed': [...NODE_FIELDS, 'previous_cluster_name'],
  'edge.node.update_triggered': [...NODE_FIELDS, 'self_update_request_id'],
  'edge.command_execution.created': EXECUTION_FIELDS,
  'edge.command_execution.sent': EXECUTION_FIELDS,
  'edge.command_execution.completed': EXECUTION_FIELDS,
  'edge.command_execution.cancelled': EXECUTION_FIELDS,
  'edge.command_execution.expired': EXECUTION_FIELDS,
  'edge.command_execution.pruned': EXECUTION_FIELDS,
  'edge.self_update_request.completed': [
    'self_update_request_id',
    'status',
    'targeting',
    'summary',
    'inserted_at',
    'updated_at',
  ],
  'edge.enrollment_key.verified': [
    'enrollment_key_id',
    'cluster_name',
    'name',
    'uses_remaining',
    'result',
    'verified_at',
  ],
  'edge.ssh_username.verified': [
    'ssh_username_id',
    'node_id',
    'username',
    'cluster_name',
    'auth_method',
    'result',
    'verified_at',
  ],
  'edge.core.test': ['message', 'requested_at'],
};

const fieldsOf = (type: EventType) => Object.keys(EVENT_DEFINITIONS[type].data.shape).toSorted();
const accepts = (type: EventType, changed: Readonly<Record<string, unknown>>) => {
  const { example } = explainEventType(type, 'default');
  return envelopeOf(type).safeParse({ ...example, data: { ...example.data, ...changed } }).success;
};

test('the catalogue has every published type, in its order, with exactly its fields', (t) => {
  t.deepEqual(column(eventCatalogue('default'), 'type'), [...EVENT_TYPES]);
  for (const type of EVENT_TYPES) t.deepEqual(fieldsOf(type), FIELDS[type].toSorted(), type);
});

for (const type of EVENT_TYPES) {
  test(`the example of ${type} is a valid event and CloudEvent, and neither with a field more, less or undefined`, (t) => {
    const { example, description } = explainEventType(type, 'north');

    t.true(envelopeOf(type).safeParse(example).success);
    t.true(Envelope.safeParse(example).success);
    t.true(new CloudEvent(structuredClone(example) as never).validate());
    t.is(example.corename, 'north');
    t.regex(description, /^[A-Z].*\.$/u);
    t.deepEqual(Object.keys(example.data).toSorted(), FIELDS[type].toSorted());
    t.false(accepts(type, { api_token: 'secret' }));
    for (const field of FIELDS[type]) t.false(accepts(type, { [field]: undefined }), field);
  });
}

test('executions keep to the table of statuses and timestamps', (t) => {
  const set = ['2026-01-15T10:00:00.020Z'];
  const none = [null];
  const both = [...none, ...set];
  /**
   * status, exit_code, sent_at, completed_at, cancelled_at. An execution that expires after it was sent keeps its
   * sent_at (C7).
   */
  const table = {
    created: [['pending'], none, none, none, none],
    sent: [['sent'], none, set, none, none],
    completed: [['completed'], [0, 124], set, set, none],
    cancelled: [['cancelled'], [143, 137], both, none, set],
    expired: [['expired'], none, both, none, none],
    pruned: [['completed', 'cancelled', 'expired', 'dropped'], [null, 0], both, both, both],
  };
  const columns = ['status', 'exit_code', 'sent_at', 'completed_at', 'cancelled_at'];
  const tried: readonly unknown[][] = [
    ['pending', 'sent', 'completed', 'cancelled', 'expired', 'dropped', null],
    [null, 0, 124, 143, 137, 1.5, '0'],
    both,
    both,
    both,
  ];

  for (const [happening, row] of Object.entries(table)) {
    for (const [column, field] of columns.entries()) {
      const allowed: readonly unknown[] = row[column] ?? [];
      for (const value of tried[column] ?? []) {
        const isRight =
          allowed.includes(value) ||
          (field === 'exit_code' && Number.isInteger(value) && allowed.some(Number.isInteger));
        t.is(
          accepts(`edge.command_execution.${happening}` as EventType, { [field]: value }),
          isRight,
          `${happening} ${field} ${String(value)}`,
        );
      }
    }
  }
});

test('a key or a username that is not known is told of by nulls alone, and one that is known never is', (t) => {
  const nobody = { enrollment_key_id: null, cluster_name: null, name: null, uses_remaining: null };

  t.true(accepts('edge.enrollment_key.verified', { ...nobody, result: 'invalid_key' }));
  t.false(accepts('edge.enrollment_key.verified', { result: 'invalid_key' }));
  t.false(accepts('edge.enrollment_key.verified', { ...nobody, result: 'verified' }));
  t.true(accepts('edge.enrollment_key.verified', { name: null, uses_remaining: null }));

  t.true(
    accepts('edge.ssh_username.verified', {
      ssh_username_id: null,
      cluster_name: null,
      auth_method: 'unknown',
      result: 'failure',
    }),
  );
  t.false(accepts('edge.ssh_username.verified', { ssh_username_id: null, cluster_name: null }));
  t.false(accepts('edge.ssh_username.verified', { cluster_name: null }));
});

test('instants are written in one way: UTC, with milliseconds', (t) => {
  for (const wrong of ['2026-01-15T10:00:00Z', '2026-01-15T11:00:00.000+01:00', '2026-01-15', 1_768_471_200_000])
    t.false(accepts('edge.core.test', { requested_at: wrong }), String(wrong));
});

test('every field of every type says what it means', (t) => {
  for (const type of EVENT_TYPES)
    for (const [field, schema] of Object.entries(EVENT_DEFINITIONS[type].data.shape))
      t.truthy((schema as z.ZodType).description, `${type} ${field}`);
});
