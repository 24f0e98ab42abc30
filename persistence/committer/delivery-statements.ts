/** What webhooks store of their deliveries, as set-based statements. */
import type { HotWrite } from '../../actors/writes.ts';
import { cursorPlace } from '../reads/events.ts';
import { plainArray } from './arrays.ts';
import { keysOf, storable, type Of, type Statement, type StatementsOf } from './statement.ts';

type DeliveryKind = Extract<HotWrite['kind'], `delivery-${string}`>;

/** In the order in which a batch runs them: a delivery may be made, reopened and tried in one. */
export const DELIVERY_STATEMENTS: { readonly [K in DeliveryKind]: StatementsOf<K> } = {
  'delivery-made': makeDeliveries,
  'delivery-reopened': reopenDeliveries,
  'delivery-attempted': storeAttempts,
};

/** Tries, of which that at the first go has no row of its own: what came of it stands in the delivery's. */
const TRIES = `insert into webhook_attempt (delivery_id, number, attempted_at, duration_ms, status_code, error, response_body)`;

/**
 * One row each, and one more of a try that failed. Where the delivery was given a row meanwhile, its first try is
 * counted there; one that was tried already changes nothing.
 */
function makeDeliveries(writes: readonly Of<'delivery-made'>[]): readonly Statement[] {
  const places = writes.map((w) => cursorPlace(w.cursor) ?? { txid: '0', seq: '0' });
  const made: Statement = {
    name: 'make-deliveries',
    wanted: keysOf(writes),
    with: `v as materialized (
        select id, to_timestamp(began / 1000.0) as began, duration, code, error, answer, status, to_timestamp(next / 1000.0) as next, to_timestamp(at / 1000.0) as at, webhook, txid, seq, event, type, subject, tries, to_timestamp(stored / 1000.0) as stored
        from unnest($1::uuid[], ${columnsFrom(2)}, $10::uuid[], $11::xid8[], $12::bigint[], $13::uuid[], $14::text[], $15::uuid[], $16::int[], $17::float8[])
          as u(id, began, duration, code, error, answer, status, next, at, webhook, txid, seq, event, type, subject, tries, stored)),
      n as (
        insert into webhook_delivery as d (id, webhook_id, event_txid, event_seq, event_id, event_type, subject, status, attempt_count, attempts_max, next_attempt_at,
          last_status_code, last_error, last_duration_ms, last_attempted_at, last_response_body, inserted_at, updated_at)
        select id, webhook, txid, seq, event, type, subject, status, 1, tries, next, code, error, duration, began, case status when 'delivered' then answer end, stored, at from v order by txid, seq, webhook
        on conflict (id) do update set status = excluded.status, attempt_count = 1, next_attempt_at = excluded.next_attempt_at, last_status_code = excluded.last_status_code, last_error = excluded.last_error,
          last_duration_ms = excluded.last_duration_ms, last_attempted_at = excluded.last_attempted_at, last_response_body = excluded.last_response_body, updated_at = excluded.updated_at
        where d.status = 'pending' and d.attempt_count = 0 returning d.id),
      a as (${TRIES} select v.id, 1, v.began, v.duration, v.code, v.error, v.answer from v join n on n.id = v.id where v.status <> 'delivered')`,
    text: 'select id as key from n',
    values: [
      plainArray(writes.map((w) => w.delivery)),
      ...attemptColumns(writes),
      plainArray(writes.map((w) => w.webhook)),
      plainArray(places.map(({ txid }) => txid)),
      plainArray(places.map(({ seq }) => seq)),
      plainArray(writes.map((w) => w.eventId)),
      plainArray(writes.map((w) => w.eventType)),
      plainArray(writes.map((w) => w.subject)),
      plainArray(writes.map((w) => w.attemptsMax)),
      plainArray(writes.map((w) => w.storedAtMs)),
    ],
  };
  return [made];
}

/** The try of one that succeeded at the first go gets its row now, as it will not be the only one. */
function reopenDeliveries(writes: readonly Of<'delivery-reopened'>[]): readonly Statement[] {
  const reopened: Statement = {
    name: 'reopen-deliveries',
    wanted: keysOf(writes),
    with: `d as (update webhook_delivery d set status = 'pending', attempts_max = d.attempt_count + 1, updated_at = to_timestamp(v.at / 1000.0)
        from unnest($1::uuid[], $2::int[], $3::float8[]) as v(id, attempts, at) where d.id = v.id and d.status <> 'pending' and d.attempt_count = v.attempts returning d.*),
      a as (${TRIES} select id, 1, last_attempted_at, last_duration_ms, last_status_code, last_error, last_response_body from d where attempt_count = 1 on conflict do nothing)`,
    text: 'select id as key from d',
    values: [
      plainArray(writes.map((w) => w.delivery)),
      plainArray(writes.map((w) => w.attempts)),
      plainArray(writes.map((w) => w.atMs)),
    ],
  };
  return [reopened];
}

/** The number of the try guards it: one that was counted already changes nothing. */
function storeAttempts(writes: readonly Of<'delivery-attempted'>[]): readonly Statement[] {
  const stored: Statement = {
    name: 'store-attempts',
    wanted: keysOf(writes),
    with: `v as materialized (
        select id, number, to_timestamp(began / 1000.0) as began, duration, code, error, answer, status, to_timestamp(next / 1000.0) as next, to_timestamp(at / 1000.0) as at, number = 1 and status = 'delivered' as is_only
        from unnest($1::uuid[], $2::int[], ${columnsFrom(3)}) as u(id, number, began, duration, code, error, answer, status, next, at)),
      d as (update webhook_delivery d set status = v.status, attempt_count = v.number, next_attempt_at = v.next, last_status_code = v.code, last_error = v.error, last_duration_ms = v.duration, last_attempted_at = v.began,
          last_response_body = case when v.is_only then v.answer end, updated_at = v.at
        from v where d.id = v.id and d.status = 'pending' and d.attempt_count = v.number - 1 returning v.*),
      a as (${TRIES} select id, number, began, duration, code, error, answer from d where not is_only)`,
    text: 'select id as key from d',
    values: [
      plainArray(writes.map((w) => w.delivery)),
      plainArray(writes.map((w) => w.number)),
      ...attemptColumns(writes),
    ],
  };
  return [stored];
}

/** What came of tries: when they began, how long they took, status, error, answer, the verdict, when next, and now. */
function attemptColumns(writes: readonly Of<'delivery-made' | 'delivery-attempted'>[]): unknown[] {
  const attempts = writes.map((w) => w.attempt);
  return [
    plainArray(attempts.map((a) => a.atMs)),
    plainArray(attempts.map((a) => Math.round(a.durationMs))),
    plainArray(attempts.map((a) => (a.type === 'answered' ? a.statusCode : null))),
    attempts.map((a) => (a.type === 'failed' ? storable(a.error) : null)),
    attempts.map((a) => (a.type === 'answered' ? storable(a.answer) : null)),
    plainArray(writes.map((w) => w.status)),
    plainArray(writes.map((w) => w.nextAttemptAtMs)),
    plainArray(writes.map((w) => w.atMs)),
  ];
}

/** The parameters of those, the first of which is this one. */
function columnsFrom(first: number): string {
  const types = ['float8', 'int', 'int', 'text', 'text', 'text', 'float8', 'float8'];
  return types.map((type, index) => `$${first + index}::${type}[]`).join(', ');
}
