/**
 * Other admins are told, in the transaction that stores something for nodes that they own, that it is there: no crash
 * comes between, and nobody is told of what was not stored. An admin that is alone tells nobody, and asks nothing.
 */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { PoolClient } from 'pg';
import type { Notice } from '../../actors/notice.ts';
import type { HotWrite } from '../../actors/writes.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { ADMIN_CHANNEL, type AdminMessage } from '../admins/admin-messages.ts';
import { OWN_CHANNEL_PREFIX, WOKEN_COMMANDS_MAX, WOKEN_ENDS_MAX } from '../admins/own-channel.ts';
import { plainArray } from './arrays.ts';
import type { Statement } from './statement.ts';

/** Who tells, and when there is anybody to tell. */
export interface WakeUpOptions {
  readonly adminId: string;
  /** False: this admin is alone, as far as it knows. */
  readonly hasPeers: () => boolean;
}

/** The channel of the admin in `admin_id`. */
const CHANNEL_OF_ADMIN = `'${OWN_CHANNEL_PREFIX}' || replace(admin_id::text, '-', '')`;

/** What the owners of clusters are told by this admin. Each tells within the transaction that it is given. */
export class WakeUps {
  readonly #adminId: string;
  readonly #hasPeers: () => boolean;

  constructor({ adminId, hasPeers }: WakeUpOptions) {
    this.#adminId = adminId;
    this.#hasPeers = hasPeers;
  }

  /**
   * Commands that were created or are to be cancelled, in one statement. A new one goes to the owners of the clusters
   * that it targeted; for a cancel those are asked where its nodes are now.
   */
  ofBatch(stored: readonly HotWrite[]): readonly Statement[] {
    if (!this.#hasPeers()) return [];
    const created = stored.flatMap((write) => (write.kind === 'command-created' ? [write] : []));
    const places = created.flatMap(({ command, executions }) =>
      [...new Set(executions.map(({ clusterName }) => clusterName))].map((cluster) => ({
        command: command.id,
        cluster,
      })),
    );
    const cancelled = stored.flatMap((write): readonly CommandId[] =>
      write.kind === 'command-cancel-requested' ? [write.command] : [],
    );
    if (places.length === 0 && cancelled.length === 0) return [];
    const told: Statement = {
      name: 'wake-owners',
      text: `with told as (
          select w.admin_id, 'run' as type, v.command from unnest($2::uuid[], $3::text[]) as v (command, cluster)
            join cluster c on c.name = v.cluster join cluster_ownership w on w.cluster_id = c.id
          union select w.admin_id, 'cancel', e.command_id from command_execution e
            join node n on n.id = e.node_id join cluster_ownership w on w.cluster_id = n.cluster_id
            where e.command_id = any($4::uuid[]) and e.finished_at is null),
        others as (select *, (row_number() over (partition by admin_id, type order by command) - 1) / ${WOKEN_COMMANDS_MAX} as part from told where admin_id <> $1::uuid)
        select pg_notify(${CHANNEL_OF_ADMIN}, type || ' ' || string_agg(command::text, ' ')) from others group by admin_id, type, part`,
      values: [
        this.#adminId,
        plainArray(places.map(({ command }) => command)),
        places.map(({ cluster }) => cluster),
        plainArray(cancelled),
      ],
    };
    return [told];
  }

  /** A node that came into another cluster: its owner starts it. */
  async ofMove(em: EntityManager, node: NodeId, to: ClusterId): Promise<void> {
    if (!this.#hasPeers()) return;
    await em.execute(
      `select pg_notify(${CHANNEL_OF_ADMIN}, 'node ' || ? || ' ' || cluster_id) from cluster_ownership where cluster_id = ? and admin_id <> ?`,
      [node, to, this.#adminId],
    );
  }

  /** Executions that a sweep of this admin ended: whoever owns their nodes has them ended there (C7). */
  async ofEnded(client: Pick<PoolClient, 'query'>, ended: readonly (readonly [NodeId, ExecutionId])[]): Promise<void> {
    if (ended.length === 0 || !this.#hasPeers()) return;
    await client.query(
      `with others as (
          select w.admin_id, v.node || ':' || v.execution as pair, (row_number() over (partition by w.admin_id) - 1) / ${WOKEN_ENDS_MAX} as part
          from unnest($2::uuid[], $3::uuid[]) as v (node, execution)
            join node n on n.id = v.node join cluster_ownership w on w.cluster_id = n.cluster_id where w.admin_id <> $1::uuid)
        select pg_notify(${CHANNEL_OF_ADMIN}, 'ended ' || string_agg(pair, ' ')) from others group by admin_id, part`,
      [this.#adminId, ended.map(([node]) => node), ended.map(([, execution]) => execution)],
    );
  }

  /**
   * Nodes that were deleted, or whose credential was replaced: whatever is open to them at any admin ends (E5). All
   * admins are told, since any of them may have a tunnel, and also when none is known: one that just came has to hear
   * it.
   */
  async ofRevoked(em: EntityManager, notices: readonly Notice[]): Promise<void> {
    for (const notice of notices) {
      if (notice.type !== 'node-removed' && notice.type !== 'node-revoked') continue;
      const message: AdminMessage = { type: 'node-revoked', from: this.#adminId, node: notice.node };
      await em.execute('select pg_notify(?, ?)', [ADMIN_CHANNEL, JSON.stringify(message)]);
    }
  }
}
