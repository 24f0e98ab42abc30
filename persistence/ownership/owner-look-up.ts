/**
 * Who owns a node, a cluster or the webhooks now: what is held here is known without the database, the rest is read.
 * What other admins own is remembered for a moment, for first tries only.
 */
import type { Pool } from 'pg';
import type { HeldHere, OwnedBy, Owner, OwnersPort } from '../../api/forwarding/ports.ts';
import type { Clock } from '../../actors/ports.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { RecentOwners } from './recent-owners.ts';
import { WEBHOOKS_CHANNEL } from '../publishing/names.ts';
import { batched } from '../reads/batch.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/**
 * How often somebody who waits for another owner looks, in ms. Only what takes longer than this looks at all: a
 * notification would be sent at each change of an owner, whether somebody waits or not.
 */
export const OWNER_LOOK_MS = 200;

/** The owner of something, as a row says it; null: nobody's. */
interface OwnerRow {
  readonly cluster: ClusterId | null;
  readonly admin: string | null;
  readonly epoch: string | null;
}

/** What it reads from, and by which clock it waits. */
export interface OwnersPorts {
  readonly pool: Pool;
  readonly adminId: string;
  readonly clock: Clock;
  readonly here: HeldHere;
}

/** Owners by rows. Look-ups that wait together are one statement. */
export class StoredOwners implements OwnersPort {
  readonly #ports: OwnersPorts;
  readonly #byNode: (id: NodeId) => Promise<OwnerRow | undefined>;
  readonly #byCluster: (id: ClusterId) => Promise<OwnerRow | undefined>;
  readonly #recent = new RecentOwners();

  constructor(ports: OwnersPorts) {
    this.#ports = ports;
    this.#byNode = batched((ids) => ownersOfNodes(ports.pool, ids));
    this.#byCluster = batched((ids) => ownersOfClusters(ports.pool, ids));
  }

  hasPeers(): boolean {
    return this.#ports.here.hasPeers();
  }

  async of(owned: OwnedBy): Promise<Owner> {
    switch (owned.kind) {
      case 'node':
        return (
          this.#held(this.#ports.here.clusterOfNode(owned.id)) ?? this.#ofNode(owned.id, await this.#byNode(owned.id))
        );
      case 'cluster':
        return this.#held(owned.id) ?? this.#owner(await this.#byCluster(owned.id));
      case 'webhooks':
        return this.#holder(await holderOfWebhooks(this.#ports.pool));
      case 'admin':
        return { type: 'missing' }; // what one admin is asked about itself goes by its name, not by what it owns
      default:
        return owned satisfies never;
    }
  }

  lately(owned: OwnedBy): Owner | null {
    const { here, clock } = this.#ports;
    if (owned.kind !== 'node' && owned.kind !== 'cluster') return null;
    const cluster =
      owned.kind === 'cluster' ? owned.id : (here.clusterOfNode(owned.id) ?? this.#recent.clusterOf(owned.id));
    return this.#held(cluster) ?? (cluster === null ? null : this.#recent.ownerOf(cluster, clock.nowMs()));
  }

  async changed(owned: OwnedBy, epoch: number | null, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#pause(signal);
      if (signal.aborted || (await this.#isChanged(owned, epoch))) return;
    }
  }

  async #isChanged(owned: OwnedBy, epoch: number | null): Promise<boolean> {
    try {
      const owner = await this.of(owned);
      if (owner.type === 'nobody') return false;
      return owner.type === 'missing' || owner.type === 'no_room' || owner.epoch !== epoch;
    } catch {
      return false; // the database is away: whoever waits has a deadline
    }
  }

  #held(cluster: ClusterId | null): Owner | null {
    const epoch = cluster === null ? null : this.#ports.here.epochOf(cluster, true);
    return epoch === null ? null : { type: 'here', epoch };
  }

  #ofNode(node: NodeId, row: OwnerRow | undefined): Owner {
    this.#recent.isIn(node, row?.cluster ?? null);
    return this.#owner(row);
  }

  /** Remembers it where it is another admin's. */
  #owner(row: OwnerRow | undefined): Owner {
    const owner = this.#judged(row);
    if (row !== undefined && row.cluster !== null) this.#recent.owns(row.cluster, owner, this.#ports.clock.nowMs());
    return owner;
  }

  #judged(row: OwnerRow | undefined): Owner {
    const { here, adminId } = this.#ports;
    if (row === undefined || row.cluster === null) return { type: 'missing' };
    if (row.admin === null) return { type: here.isOrphan(row.cluster) ? 'no_room' : 'nobody' };
    const epoch = Number(row.epoch);
    if (row.admin !== adminId) return { type: 'elsewhere', admin: row.admin, epoch };
    // What its row gives this admin and it does not hold yet was its own before a restart.
    return here.epochOf(row.cluster, false) === epoch ? { type: 'here', epoch } : { type: 'nobody' };
  }

  #holder(row: OwnerRow | undefined): Owner {
    const { here, adminId } = this.#ports;
    if (row === undefined || row.admin === null) return { type: 'nobody' };
    const epoch = Number(row.epoch);
    if (row.admin !== adminId) return { type: 'elsewhere', admin: row.admin, epoch };
    return here.deliversWebhooks() ? { type: 'here', epoch } : { type: 'nobody' };
  }

  #pause(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.#ports.clock.after(OWNER_LOOK_MS, done);
      signal.addEventListener('abort', done, { once: true });
    });
  }
}

/** A lease that has run out is nobody's. */
const LIVE = sql`case when w.lease_until > clock_timestamp() then w.admin_id end`;

async function ownersOfNodes(pool: Pool, ids: readonly NodeId[]): Promise<readonly (OwnerRow | undefined)[]> {
  const rows = await rowsOf<OwnerRow & { readonly id: NodeId }>(
    pool,
    'looking for the owners of nodes',
    sql`select n.id, n.cluster_id as cluster, ${LIVE} as admin, w.epoch::text as epoch
      from node n left join cluster_ownership w on w.cluster_id = n.cluster_id where n.id = any(${ids}::uuid[])`,
  );
  return inOrder(ids, rows);
}

async function ownersOfClusters(pool: Pool, ids: readonly ClusterId[]): Promise<readonly (OwnerRow | undefined)[]> {
  const rows = await rowsOf<OwnerRow & { readonly id: ClusterId }>(
    pool,
    'looking for the owners of clusters',
    sql`select c.id, c.id as cluster, ${LIVE} as admin, w.epoch::text as epoch
      from cluster c left join cluster_ownership w on w.cluster_id = c.id where c.id = any(${ids}::uuid[])`,
  );
  return inOrder(ids, rows);
}

async function holderOfWebhooks(pool: Pool): Promise<OwnerRow | undefined> {
  const [row] = await rowsOf<OwnerRow>(
    pool,
    'looking for the admin that delivers webhooks',
    sql`select null as cluster, w.admin_id as admin, w.epoch::text as epoch from event_channel w
      where w.name = ${WEBHOOKS_CHANNEL} and w.lease_until > clock_timestamp()`,
  );
  return row;
}

function inOrder<Id extends string>(
  ids: readonly Id[],
  rows: readonly (OwnerRow & { readonly id: Id })[],
): readonly (OwnerRow | undefined)[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id));
}
