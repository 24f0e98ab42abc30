/** What nodes store of their self-updates, as set-based statements. */
import type { SelfUpdateHotWrite } from '../../actors/self-update/writes.ts';
import { plainArray } from './arrays.ts';
import { keysOf, storable, type Of, type Statement, type StatementsOf } from './statement.ts';

/** In the order in which a batch runs them: a node may be asked, triggered and updated in one. */
export const SELF_UPDATE_STATEMENTS: { readonly [K in SelfUpdateHotWrite['kind']]: StatementsOf<K> } = {
  'self-update-asked': ask,
  'self-update-triggered': trigger,
  'self-update-failed': fail,
  'self-update-ended': end,
};

const KEY = `u.request_id || ':' || u.node_id as key`;

/** Before it is asked: from then on nobody knows but its agent whether the updater took the signal. */
function ask(writes: readonly Of<'self-update-asked'>[]): readonly Statement[] {
  const asked: Statement = {
    name: 'self-update-asked',
    wanted: keysOf(writes),
    text: `update self_update_node u set asked_at = to_timestamp(v.at / 1000.0), from_version = v.was
      from unnest($1::uuid[], $2::uuid[], $3::float8[], $4::text[]) as v(request, node, at, was)
      where u.request_id = v.request and u.node_id = v.node and u.state = 'due' returning ${KEY}`,
    values: [
      plainArray(writes.map((w) => w.request)),
      plainArray(writes.map((w) => w.node)),
      plainArray(writes.map((w) => w.atMs)),
      writes.map((w) => storable(w.from)),
    ],
  };
  return [asked];
}

function trigger(writes: readonly Of<'self-update-triggered'>[]): readonly Statement[] {
  const triggered: Statement = {
    name: 'self-update-triggered',
    wanted: keysOf(writes),
    text: `update self_update_node u set state = 'triggered', triggered_at = to_timestamp(v.at / 1000.0)
      from unnest($1::uuid[], $2::uuid[], $3::float8[]) as v(request, node, at)
      where u.request_id = v.request and u.node_id = v.node and u.state = 'due' returning ${KEY}`,
    values: [
      plainArray(writes.map((w) => w.request)),
      plainArray(writes.map((w) => w.node)),
      plainArray(writes.map((w) => w.atMs)),
    ],
  };
  return [triggered];
}

function fail(writes: readonly Of<'self-update-failed'>[]): readonly Statement[] {
  const failed: Statement = {
    name: 'self-update-failed',
    wanted: keysOf(writes),
    text: `update self_update_node u set state = 'failed', error = v.error, finished_at = to_timestamp(v.at / 1000.0)
      from unnest($1::uuid[], $2::uuid[], $3::float8[], $4::text[]) as v(request, node, at, error)
      where u.request_id = v.request and u.node_id = v.node and u.state = 'due' returning ${KEY}`,
    values: [
      plainArray(writes.map((w) => w.request)),
      plainArray(writes.map((w) => w.node)),
      plainArray(writes.map((w) => w.atMs)),
      writes.map((w) => storable(w.error)),
    ],
  };
  return [failed];
}

/**
 * One that went back, had nothing to do or could do nothing takes no place of its batch any more; one that is updated
 * must be well. Whose updater could do nothing says so by an error, and has failed.
 */
function end(writes: readonly Of<'self-update-ended'>[]): readonly Statement[] {
  const ended: Statement = {
    name: 'self-update-ended',
    wanted: keysOf(writes),
    text: `update self_update_node u set state = case when v.outcome <> 'unchanged' then v.outcome when v.error is null then u.state else 'failed' end,
        from_version = coalesce(v.was, u.from_version), to_version = v.now, error = v.error,
        finished_at = to_timestamp(v.at / 1000.0), judged_at = case v.outcome when 'updated' then u.judged_at else coalesce(u.judged_at, to_timestamp(v.at / 1000.0)) end
      from unnest($1::uuid[], $2::uuid[], $3::float8[], $4::text[], $5::text[], $6::text[], $7::text[]) as v(request, node, at, outcome, was, now, error)
      where u.request_id = v.request and u.node_id = v.node
        and (u.state = 'triggered' and u.finished_at is null or v.outcome = 'rolled_back' and u.state in ('triggered', 'updated')) returning ${KEY}`,
    values: [
      plainArray(writes.map((w) => w.request)),
      plainArray(writes.map((w) => w.node)),
      plainArray(writes.map((w) => w.atMs)),
      plainArray(writes.map((w) => w.outcome)),
      writes.map((w) => storable(w.from)),
      writes.map((w) => storable(w.to)),
      writes.map((w) => storable(w.error)),
    ],
  };
  return [ended];
}
