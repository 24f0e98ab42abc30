/**
 * What lists can be filtered and sorted by, once: lists, discovery and targeting read it, persistence gives each field
 * its SQL.
 */
import { Registration } from '../transport/protocol/agent-description.ts';
import { EVENT_TYPES } from './events.ts';
import { DELIVERY_STATUSES } from './resources/webhook.ts';
import { EXECUTION_STATUSES } from './resources/command.ts';
import { NODE_STATUSES } from './resources/node.ts';
import { SELF_UPDATE_RESULTS, SELF_UPDATE_STATUSES } from './resources/self-update.ts';

/**
 * `text` takes `*` as wildcard, `exact` does not and may be longer; `time` takes date-time or date; `cidr` an address
 * range; `version` a text whose bounds are versions; `selector` a selector of labels.
 */
export type FieldKind =
  | 'text'
  | 'exact'
  | 'uuid'
  | 'integer'
  | 'boolean'
  | 'time'
  | 'cidr'
  | 'version'
  | 'selector'
  | readonly string[];
/** How a value is compared: the same, one of some, at least, at most. */
export type FilterOp = 'eq' | 'in' | 'gte' | 'lte';

/**
 * One filterable field: its kind and the operators it offers. The parameter is the field's name, with `__op` unless
 * `eq`.
 */
export interface FilterField {
  readonly kind: FieldKind;
  readonly ops: readonly FilterOp[];
}

/** One condition, parsed. Times are Unix ms; `in` holds an array. */
export interface Filter {
  readonly field: string;
  readonly op: FilterOp;
  readonly value: string | number | boolean | readonly string[];
}

/** One key of an order. Ties are broken by id, so that pages never overlap. */
export interface Sort {
  readonly field: string;
  readonly descending: boolean;
}

/** A page of a list: conditions are ANDed. `page` counts from 1. An empty `sort` means newest first. */
export interface ListQuery {
  readonly filters: readonly Filter[];
  readonly sort: readonly Sort[];
  readonly page: number;
  readonly pageSize: number;
}

/** What one list offers: fields to filter by, and those of them that it can be sorted by. */
export interface ListSpec {
  readonly fields: Readonly<Record<string, FilterField>>;
  readonly sortable: readonly string[];
  /** Parameters that cannot be left out: what the rows are of. */
  readonly required?: readonly string[];
  /** What parameters mean that are no filters of the rows. */
  readonly descriptions?: Readonly<Record<string, string>>;
}

const text: FilterField = { kind: 'text', ops: ['eq', 'in'] };
const textOnly: FilterField = { kind: 'text', ops: ['eq'] };
const ids: FilterField = { kind: 'uuid', ops: ['in'] };
const flag: FilterField = { kind: 'boolean', ops: ['eq'] };
const range: FilterField = { kind: 'time', ops: ['gte', 'lte'] };
const count: FilterField = { kind: 'integer', ops: ['eq', 'gte', 'lte'] };
const exact: FilterField = { kind: 'exact', ops: ['eq'] };
const countRange: FilterField = { kind: 'integer', ops: ['gte', 'lte'] };
const idType = { kind: Registration.shape.id_type.options, ops: ['eq'] } as const satisfies FilterField;
const cidr: FilterField = { kind: 'cidr', ops: ['eq'] };
const version: FilterField = { kind: 'version', ops: ['eq', 'gte', 'lte'] };
const selector: FilterField = { kind: 'selector', ops: ['eq'] };
const machine = { hostname: text, os: text, arch: text, labels: selector };
const dates = { inserted_at: range, updated_at: range };

/** Filters of every list operation. Source: docs/api.md, Lists. */
export const LISTS = {
  clusters: {
    fields: {
      name: text,
      node_id: ids,
      ipv4_range: cidr,
      ipv6_range: cidr,
      node_count: count,
      node_limit: count,
      has_node_limit: flag,
      ...dates,
    },
    sortable: ['name', 'node_count', 'node_limit', 'inserted_at', 'updated_at'],
  },
  enrollment_keys: {
    fields: {
      key: exact,
      cluster_name: text,
      name: textOnly,
      has_name: flag,
      is_unlimited: flag,
      is_spent: flag,
      is_expired: flag,
      is_never_used: flag,
      has_expiry: flag,
      uses_remaining: count,
      expired_at: range,
      last_used_at: range,
      ...dates,
    },
    sortable: ['name', 'cluster_name', 'uses_remaining', 'expired_at', 'last_used_at', 'inserted_at', 'updated_at'],
  },
  nodes: {
    fields: {
      node_id: ids,
      enrollment_key_id: ids,
      has_enrollment_key: flag,
      status: { kind: NODE_STATUSES, ops: ['in'] },
      version,
      id_type: idType,
      self_update_enabled: flag,
      cluster_name: text,
      ...machine,
      last_seen_at: range,
      ...dates,
    },
    sortable: ['cluster_name', 'status', 'version', 'last_seen_at', 'inserted_at', 'updated_at'],
  },
  groups: {
    fields: { name: text, ...dates },
    sortable: ['name', 'inserted_at', 'updated_at'],
  },
  aliases: {
    fields: { name: textOnly, node_id: ids, cluster_name: text, ...dates },
    sortable: ['name', 'cluster_name', 'inserted_at', 'updated_at'],
  },
  commands: {
    fields: {
      command_text: textOnly,
      has_timeout: flag,
      has_expired_at: flag,
      has_open: flag,
      has_failed: flag,
      timeout: countRange,
      expired_at: range,
      ...dates,
    },
    sortable: ['timeout', 'expired_at', 'inserted_at', 'updated_at'],
  },
  command_executions: {
    fields: {
      status: { kind: EXECUTION_STATUSES, ops: ['in'] },
      command_id: ids,
      node_id: ids,
      cluster_name: text,
      has_cluster: flag,
      target_all: flag,
      exit_code: count,
      has_output: flag,
      output: textOnly,
      expired_at: range,
      sent_at: range,
      completed_at: range,
      cancelled_at: range,
      ...dates,
    },
    sortable: [
      'status',
      'exit_code',
      'cluster_name',
      'sent_at',
      'completed_at',
      'cancelled_at',
      'expired_at',
      'inserted_at',
      'updated_at',
    ],
  },
  self_update_requests: {
    fields: { status: { kind: SELF_UPDATE_STATUSES, ops: ['in'] }, ...dates },
    sortable: ['status', 'inserted_at', 'updated_at'],
  },
  self_update_results: {
    fields: {
      id: { kind: 'uuid', ops: ['eq'] },
      status: { kind: SELF_UPDATE_RESULTS, ops: ['in'] },
      wave: { kind: 'integer', ops: ['eq'] },
      node_id: ids,
    },
    required: ['id'],
    sortable: ['status', 'wave', 'node_id'],
  },
  ssh_usernames: {
    fields: { username: text, node_id: ids, has_password: flag, cluster_name: text, key_name: text, ...dates },
    sortable: ['username', 'cluster_name', 'inserted_at', 'updated_at'],
  },
  ssh_public_keys: {
    fields: {
      key_name: text,
      ssh_username_id: ids,
      username: text,
      node_id: ids,
      cluster_name: text,
      fingerprint: textOnly,
      ...dates,
    },
    sortable: ['key_name', 'inserted_at', 'updated_at'],
  },
  ssh_recordings: {
    fields: {
      node_id: ids,
      cluster_name: text,
      ssh_username_id: ids,
      username: text,
      has_command: flag,
      truncated: flag,
      duration_ms: countRange,
      started_at: range,
      inserted_at: range,
    },
    sortable: ['username', 'cluster_name', 'duration_ms', 'started_at', 'inserted_at'],
  },
  webhooks: {
    fields: {
      url: textOnly,
      event_type: { kind: EVENT_TYPES, ops: ['eq'] },
      waiting_since: { kind: 'time', ops: ['lte'] },
      dropped_at: { kind: 'time', ops: ['gte'] },
      ...dates,
    },
    sortable: ['url', 'inserted_at', 'updated_at'],
  },
  webhook_deliveries: {
    fields: {
      webhook_id: ids,
      event_id: ids,
      event_type: { kind: EVENT_TYPES, ops: ['eq', 'in'] },
      status: { kind: DELIVERY_STATUSES, ops: ['in'] },
      attempt_count: count,
      last_status_code: count,
      ...dates,
    },
    sortable: ['status', 'attempt_count', 'inserted_at', 'updated_at'],
  },
} as const satisfies Record<string, ListSpec>;

/** A list that can be read. */
export type ListName = keyof typeof LISTS;

/** What targeting may filter nodes and clusters by. Source: docs/api.md, Lists. */
export const TARGET_FILTERS = {
  cluster_filters: { name: textOnly, node_count: count, has_node_limit: flag, ipv4_range: cidr, ...dates },
  node_filters: {
    cluster_name: textOnly,
    id_type: idType,
    status: { kind: NODE_STATUSES, ops: ['eq'] },
    version,
    self_update_enabled: flag,
    ...machine,
    last_seen_at: range,
    ...dates,
  },
} as const satisfies Record<string, Readonly<Record<string, FilterField>>>;

/** Parameter name of a field and operator: `status__in`, `name`. */
export function parameterName(field: string, op: FilterOp): string {
  return op === 'eq' ? field : `${field}__${op}`;
}
