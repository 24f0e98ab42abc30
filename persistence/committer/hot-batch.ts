/** One transaction of the group commit: leases checked, writes by kind, events of what applied. */
import type { PoolClient, QueryConfig } from 'pg';
import type { Lease } from '../../actors/behaviour.ts';
import { NothingWritten } from '../../actors/ports.ts';
import type { RefusedChange } from '../../supervisors/ports.ts';
import type { Vault } from '../vault.ts';
import { STALE_EPOCH, type Refusal } from '../../actors/refusal.ts';
import type { Change } from '../../actors/step.ts';
import type { HotWrite } from '../../actors/writes.ts';
import { eventStatements, serializedEvents, type SerializedEvent } from './event-rows.ts';
import { plainArray } from './arrays.ts';
import { HOT_STATEMENTS } from './hot-statements.ts';
import { Pipelined } from './pipelined.ts';
import { keyOf, missedBy, orRefused, type Client, type Statement } from './statement.ts';
import { idempotencyStatement, insertIdempotencyRecord, KEY_TAKEN } from './idempotency-records.ts';
import type { WakeUps } from './wake-ups.ts';

/** A hot change, which is all that a batch takes. */
export interface HotChange extends Change {
  readonly write: HotWrite;
}

/** What one actor wants stored. */
export interface Unit {
  readonly lease: Lease | null;
  readonly changes: readonly HotChange[];
}

const KINDS = Object.keys(HOT_STATEMENTS) as HotWrite['kind'][];
const ALREADY: Refusal = { code: 'conflict', message: 'It has already finished, or was changed meanwhile.' };

/** What is put into rows, and who tells other admins of it. */
export interface BatchPorts {
  readonly vault: Vault;
  readonly wakeUps: Pick<WakeUps, 'ofBatch'>;
}

/**
 * The statements that store all units as if nothing were refused: where something is, the server refuses the statement
 * (see `isRefused`).
 */
export async function statementsAtOnce(
  { vault, wakeUps }: BatchPorts,
  units: readonly Unit[],
): Promise<readonly QueryConfig[]> {
  const changes = units.flatMap((unit) => unit.changes);
  // The locks of the leases come first, as in the other way.
  const leases = units.flatMap((unit) => unit.lease ?? []);
  const told: Statement[] = [];
  for await (const serialized of serializedEvents(changes.flatMap((change) => change.events)))
    told.push(...eventStatements(serialized));
  return [
    ...(leases.length > 0 ? [standingLeases(leases)] : []),
    ...changes.flatMap(({ idempotencyRecord: record }) =>
      record === undefined ? [] : [idempotencyStatement(vault, record)],
    ),
    ...statementsOf(changes).flatMap(({ statements }) => statements),
    ...wakeUps.ofBatch(changes.map(({ write }) => write)),
    ...told,
  ].map(orRefused);
}

/**
 * Stores all units in the open transaction and returns what each was refused. Throws where nobody waits for it any
 * longer, after `untilMs` by the monotonic clock.
 */
export async function storeBatch(
  connection: Pick<PoolClient, 'query'>,
  { vault, wakeUps }: BatchPorts,
  units: readonly Unit[],
  untilMs: number,
): Promise<ReadonlyMap<Unit, readonly RefusedChange[]>> {
  const { client } = new Pipelined(connection);
  const refused = new Map<Change, Refusal>();
  const stale = await staleLeases(
    client,
    units.flatMap((unit) => unit.lease ?? []),
  );
  const changes: HotChange[] = [];
  const isKeyFree = async ({ idempotencyRecord: record }: HotChange): Promise<boolean> =>
    record === undefined || insertIdempotencyRecord(client, vault, record);
  const standing = units.filter(({ lease }) => lease === null || !stale.has(lease)).flatMap((unit) => unit.changes);
  const free = await Promise.all(standing.map(isKeyFree));
  for (const [index, change] of standing.entries())
    if (free[index] === true) changes.push(change);
    else refused.set(change, KEY_TAKEN);
  for (const { lease, changes: ofUnit } of units)
    if (lease !== null && stale.has(lease)) for (const change of ofUnit) refused.set(change, STALE_EPOCH);
  // The events are serialized while the database works on the rows.
  const serialized = serializedEvents(changes.flatMap((change) => change.events));
  const [missed, first] = await Promise.all([writeRows(client, changes), serialized.next()]);
  for (const change of missed) refused.set(change, ALREADY);
  // An execution that is sent and finished in one batch stands or falls as one.
  const unfinished = new Set(
    [...refused.keys()].flatMap(({ write }) => (write.kind === 'execution-finished' ? [write.execution] : [])),
  );
  for (const change of changes)
    if (change.write.kind === 'execution-sent' && unfinished.has(change.write.execution)) refused.set(change, ALREADY);
  const untold = new Set([...refused.keys()].flatMap((change) => change.events));
  const statementsFor = (events: readonly SerializedEvent[]): readonly Statement[] =>
    eventStatements(events.filter(({ event }) => !untold.has(event)));
  const last = [...statementsFor(first.value ?? []), ...wakeUps.ofBatch(changes.map(({ write }) => write))];
  await Promise.all(last.map((statement) => missedBy(client, statement)));
  for await (const more of serialized) {
    if (performance.now() > untilMs) throw new NothingWritten('The database takes too long.');
    for (const statement of statementsFor(more)) await missedBy(client, statement);
  }
  return new Map(units.map((unit) => [unit, unit.changes.flatMap((change) => refusalOf(change, refused))]));
}

/** Runs the statements of all kinds, sent in their order. Returns the changes that found no row. */
async function writeRows(client: Client, changes: readonly HotChange[]): Promise<readonly HotChange[]> {
  const missed = await Promise.all(
    statementsOf(changes).map(async ({ ofKind, statements }) => {
      const keys = await Promise.all(statements.map((statement) => missedBy(client, statement)));
      const all = new Set(keys.flat());
      return ofKind.filter((change) => all.has(keyOf(change.write)));
    }),
  );
  return missed.flat();
}

/** The statements that store these, in the order of kinds, each with what it is about. */
function statementsOf(
  changes: readonly HotChange[],
): readonly { readonly ofKind: readonly HotChange[]; readonly statements: readonly Statement[] }[] {
  return KINDS.flatMap((kind) => {
    const ofKind = withoutOverwritten(
      changes.filter((change) => change.write.kind === kind),
      changes,
    );
    if (ofKind.length === 0) return [];
    const statementsOf = HOT_STATEMENTS[kind] as (writes: readonly HotWrite[]) => readonly Statement[];
    return { ofKind, statements: statementsOf(ofKind.map((change) => change.write)) };
  });
}

/**
 * An execution that is sent and finished in one batch is written once: finishing sets `sent_at` too. Both events are
 * stored.
 */
function withoutOverwritten(ofKind: readonly HotChange[], all: readonly HotChange[]): readonly HotChange[] {
  if (ofKind[0]?.write.kind !== 'execution-sent') return ofKind;
  const finishing = new Set(
    all.flatMap((change) => (change.write.kind === 'execution-finished' ? [change.write.execution] : [])),
  );
  return finishing.size === 0
    ? ofKind
    : ofKind.filter((change) => change.write.kind !== 'execution-sent' || !finishing.has(change.write.execution));
}

function refusalOf(change: Change, refused: ReadonlyMap<Change, Refusal>): readonly RefusedChange[] {
  const refusal = refused.get(change);
  return refusal === undefined ? [] : [{ change, refusal }];
}

/**
 * Locks the ownership rows and returns which leases are stale: another epoch, another owner, or run out by the
 * database's clock.
 * The lock keeps whoever would end the lease away until this transaction ended, so what was checked still holds at the
 * commit; renewals go on meanwhile (leases.ts).
 */
export async function staleLeases(
  client: Pick<PoolClient, 'query'>,
  leases: readonly Lease[],
): Promise<ReadonlySet<Lease>> {
  const distinct = new Map<string, Lease[]>();
  for (const lease of leases) {
    const same = distinct.get(lease.cluster);
    if (same === undefined) distinct.set(lease.cluster, [lease]);
    else if (!same.some((other) => other.epoch === lease.epoch)) same.push(lease);
  }
  if (distinct.size === 0) return new Set();
  const { rows } = await client.query<{ cluster_id: string; epoch: string }>({
    name: 'lease-check',
    text: 'select cluster_id, epoch::text from cluster_ownership where cluster_id = any($1::uuid[]) and lease_until > clock_timestamp() order by cluster_id for key share',
    values: [[...distinct.keys()]],
  });
  const epochs = new Map(rows.map((row) => [row.cluster_id, Number(row.epoch)]));
  return new Set(leases.filter((lease) => epochs.get(lease.cluster) !== lease.epoch));
}

/** Locks the ownership rows as `staleLeases` does, and wants all of these leases to stand. */
function standingLeases(leases: readonly Lease[]): Statement {
  const distinct = new Map(leases.map((lease) => [`${lease.cluster}:${lease.epoch}`, lease]));
  return {
    name: 'standing-leases',
    wanted: new Set(distinct.keys()),
    text: `select o.cluster_id || ':' || o.epoch as key from cluster_ownership o join unnest($1::uuid[], $2::bigint[]) as v(cluster, epoch) on o.cluster_id = v.cluster and o.epoch = v.epoch
      where o.lease_until > clock_timestamp() order by o.cluster_id for key share of o`,
    values: [
      plainArray([...distinct.values()].map((lease) => lease.cluster)),
      plainArray([...distinct.values()].map((lease) => lease.epoch)),
    ],
  };
}
