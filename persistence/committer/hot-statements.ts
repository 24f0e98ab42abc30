/**
 * Hot writes as set-based statements: one a kind, each guarded by the states it may follow. Each tells which of its
 * writes found their row.
 */
import type { HotWrite } from '../../actors/writes.ts';
import type { SshGrant } from '../../transport/protocol/ssh.ts';
import type { StatusDetail } from '../entities/node.ts';
import { jsonTexts, jsonTextsOf, plainArray } from './arrays.ts';
import { type Of, type Statement, type StatementsOf, keyOf, keysOf } from './statement.ts';
import {
  createCommands,
  sendExecutions,
  finishExecutions,
  storeParts,
  requestCancel,
  requestCommandCancel,
} from './execution-statements.ts';
import { DELIVERY_STATEMENTS } from './delivery-statements.ts';
import { SELF_UPDATE_STATEMENTS } from './self-update-statements.ts';

/**
 * The statements of each kind, in the order in which a batch runs them: an execution may be created, sent and finished
 * in one batch.
 */
export const HOT_STATEMENTS: { readonly [K in HotWrite['kind']]: StatementsOf<K> } = {
  'command-created': createCommands,
  'execution-sent': sendExecutions,
  'output-part': storeParts,
  'execution-cancel-requested': requestCancel,
  'command-cancel-requested': requestCommandCancel,
  'execution-finished': finishExecutions,
  'node-status': setStatus,
  'node-labelled': setLabels,
  'ssh-verified': lookAgain,
  ...DELIVERY_STATEMENTS,
  ...SELF_UPDATE_STATEMENTS,
};

function setStatus(writes: readonly Of<'node-status'>[]): readonly Statement[] {
  // Two changes of one node in a batch: the later one is the truth, and both have their event.
  const last = [...new Map(writes.map((write) => [write.node, write])).values()];
  const set: Statement = {
    name: 'set-status',
    wanted: keysOf(last),
    text: `update node n set status = v.status, status_since = to_timestamp(v.since / 1000.0), status_reason = v.reason, status_detail = v.detail::jsonb,
      updated_at = to_timestamp(v.at / 1000.0), last_seen_at = case when v.status = 'unreachable' then n.last_seen_at else to_timestamp(v.at / 1000.0) end
      from unnest($1::uuid[], $2::text[], $3::float8[], $4::float8[], $5::text[], ${jsonTextsOf('$6')}) as v(id, status, at, since, reason, detail) where n.id = v.id returning n.id as key`,
    values: [
      plainArray(last.map((w) => w.node)),
      plainArray(last.map((w) => w.status)),
      plainArray(last.map((w) => w.atMs)),
      plainArray(last.map((w) => w.standing.sinceMs)),
      last.map((w) => w.standing.reason),
      jsonTexts(
        last.map(({ standing }): StatusDetail => ({ evidence: standing.evidence, changes_ms: standing.changesMs })),
      ),
    ],
  };
  return [set];
}

/** A trigger has made the row of the labels with that of the node. */
function setLabels(writes: readonly Of<'node-labelled'>[]): readonly Statement[] {
  const last = [...new Map(writes.map((write) => [write.node, write])).values()];
  const set: Statement = {
    name: 'set-labels',
    wanted: keysOf(last),
    with: `v as materialized (select id, labels::jsonb as labels, to_timestamp(at / 1000.0) as at from unnest($1::uuid[], $2::float8[], ${jsonTextsOf('$3')}) as u(id, at, labels)),
      l as (update node_labels l set labels = v.labels from v where l.node_id = v.id returning v.id, v.at)`,
    text: `update node n set updated_at = l.at from l where n.id = l.id returning n.id as key`,
    values: [
      plainArray(last.map((w) => w.node)),
      plainArray(last.map((w) => w.atMs)),
      jsonTexts(last.map((w) => w.labels)),
    ],
  };
  return [set];
}

/**
 * A login stands while what opened it does. The share locks make a deletion wait until the login is stored, so that it
 * finds a session to end; and a deletion that came first leaves no row to lock. One that was refused needs nothing.
 */
function lookAgain(writes: readonly Of<'ssh-verified'>[]): readonly Statement[] {
  const granted = writes.flatMap((write) =>
    write.grant === null ? [] : [{ key: keyOf(write), node: write.node, ...write.grant }],
  );
  return [
    ...lockUsernames(granted.filter((one) => one.ssh_public_key_id === null)),
    ...lockKeys(granted.filter((one) => one.ssh_public_key_id !== null)),
  ];
}

type Granted = { readonly key: string; readonly node: string } & SshGrant;

function lockUsernames(granted: readonly Granted[]): readonly Statement[] {
  if (granted.length === 0) return [];
  const locked: Statement = {
    name: 'lock-ssh-usernames',
    wanted: new Set(granted.map((one) => one.key)),
    text: 'select v.key from unnest($1::text[], $2::uuid[], $3::uuid[]) as v(key, node, username) join ssh_username u on u.id = v.username and u.node_id = v.node order by u.id for share of u',
    values: grantedValues(granted),
  };
  return [locked];
}

function lockKeys(granted: readonly Granted[]): readonly Statement[] {
  if (granted.length === 0) return [];
  const locked: Statement = {
    name: 'lock-ssh-keys',
    wanted: new Set(granted.map((one) => one.key)),
    text: `select v.key from unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[]) as v(key, node, username, public_key)
      join ssh_username u on u.id = v.username and u.node_id = v.node join ssh_public_key k on k.id = v.public_key and k.ssh_username_id = u.id order by u.id, k.id for share of u, k`,
    values: [...grantedValues(granted), plainArray(granted.map((one) => one.ssh_public_key_id))],
  };
  return [locked];
}

function grantedValues(granted: readonly Granted[]): string[] {
  return [
    plainArray(granted.map((one) => one.key)),
    plainArray(granted.map((one) => one.node)),
    plainArray(granted.map((one) => one.ssh_username_id)),
  ];
}
