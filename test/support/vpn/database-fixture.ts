/** Clusters, nodes and aliases as real rows, and a VPN manager that has to have the same. */
import type { ExecutionContext } from 'ava';
import { v7 } from 'uuid';
import type { Lease } from '../../../actors/behaviour.ts';
import type { VpnRows } from '../../../actors/vpn/rows.ts';
import { hostNameOf, type VpnManager, type VpnNetwork } from '../../../actors/vpn/vpn.ts';
import { networkOf } from '../../../transport/protocol/cluster-names.ts';
import { openDatabase } from '../../../persistence/connections/database.ts';
import { StoredNetworks } from '../../../persistence/vpn/embedded-vpn-rows.ts';
import { StoredVpnRows } from '../../../persistence/vpn/vpn-rows.ts';
import type { ClusterId, NodeId } from '../../../transport/protocol/ids.ts';
import { createEmbeddedVpn } from '../../../transport/vpn/embedded.ts';
import { NetmakerVpn } from '../../../transport/vpn/netmaker/netmaker.ts';
import { NOW_MS } from '../actors.ts';
import { enrolled, enrolment, openFixture } from '../database/committer-fixture.ts';
import { scaledLimits } from '../database/opened.ts';

/** Domain of names in these tests. */
export const DOMAIN = 'edge.test';

/** A cluster with its network. */
export interface FixtureCluster extends VpnNetwork {
  readonly lease: Lease & { readonly cluster: ClusterId };
}

/** Rows and a manager. */
export interface VpnFixture {
  readonly manager: VpnManager;
  readonly rows: VpnRows;
  readonly adminId: string;
  sql<R extends object>(text: string, values?: unknown[]): Promise<R[]>;
  /** Rows of another admin on the same database. */
  rowsOf(adminId: string): VpnRows;
  cluster(name?: string): Promise<FixtureCluster>;
  removeCluster(cluster: FixtureCluster): Promise<void>;
  node(cluster: FixtureCluster): Promise<NodeId>;
  removeNode(node: NodeId, cluster: FixtureCluster): Promise<void>;
  move(node: NodeId, from: FixtureCluster, to: FixtureCluster): Promise<void>;
  alias(node: NodeId, cluster: FixtureCluster, name: string): Promise<string>;
  removeAlias(id: string): Promise<void>;
  /** A node enters its network, as the manager or its machine does it. */
  enter(cluster: VpnNetwork, node: NodeId): Promise<void>;
}

/** How machines enter a network by themselves. */
export type Machine = (network: string, node: NodeId, token: string | null, fixture: VpnFixture) => Promise<void>;

/** Opens rows with a manager over them. */
export async function openVpnFixture(
  t: ExecutionContext,
  managerOf: (rows: VpnRows, database: Awaited<ReturnType<typeof openDatabase>>) => VpnManager,
  machine: Machine,
): Promise<VpnFixture> {
  const committerFixture = await openFixture(t);
  const { connectMs } = scaledLimits();
  const database = await openDatabase({
    connection: committerFixture.connection,
    poolMax: 4,
    log: committerFixture.log,
    limits: { connectMs },
  });
  t.teardown(() => database.close());
  const rows = new StoredVpnRows(database.pool, committerFixture.adminId);
  const manager = managerOf(rows, database);
  t.teardown(() => manager.close());
  const leases = new Map<ClusterId, FixtureCluster['lease']>();
  const commit = async (
    lease: Lease | null,
    write: Parameters<typeof committerFixture.commit>[1][number],
  ): Promise<void> => {
    const outcomes = await committerFixture.commit(lease, [write]);
    if (outcomes.some((outcome) => outcome !== 'ok')) throw new Error(`a row was refused: ${outcomes.join()}`);
  };

  const fixture: VpnFixture = {
    manager,
    rows,
    adminId: committerFixture.adminId,
    sql: (text, values) => committerFixture.rows(text, values),
    rowsOf: (adminId) => new StoredVpnRows(database.pool, adminId),
    async cluster(name) {
      const lease = await committerFixture.cluster(name === undefined ? {} : { name });
      leases.set(lease.cluster, lease);
      const [row] = await committerFixture.rows<{ name: string; ipv4: string; ipv6: string }>(
        'select name, ipv4_range::text as ipv4, ipv6_range::text as ipv6 from cluster where id = $1',
        [lease.cluster],
      );
      return { lease, name: networkOf(row?.name ?? ''), ipv4Range: row?.ipv4 ?? '', ipv6Range: row?.ipv6 ?? '' };
    },
    removeCluster: ({ lease }) => commit(lease, { kind: 'cluster-deleted', cluster: lease.cluster }),
    async node({ lease }) {
      const write = enrolment(lease.cluster, await committerFixture.key(lease.cluster, null));
      await commit(lease, enrolled(write));
      return write.node;
    },
    removeNode: (node, { lease }) => commit(lease, { kind: 'node-deleted', node, atMs: NOW_MS }),
    move: (node, from, to) =>
      commit(from.lease, { kind: 'node-moved', node, from: from.lease.cluster, to: to.lease.cluster, atMs: NOW_MS }),
    async alias(node, { lease }, name) {
      const id = v7();
      await commit(lease, { kind: 'alias-created', id, node, cluster: lease.cluster, name, atMs: NOW_MS });
      return id;
    },
    removeAlias: (id) => commit(null, { kind: 'alias-deleted', id }),
    async enter(network, node) {
      if (!(await manager.join(network.name, node)))
        await machine(network.name, node, await manager.joinToken(network.name), fixture);
    },
  };
  return fixture;
}

/** A fixture whose manager is the service itself. */
export function embeddedFixture(t: ExecutionContext): Promise<VpnFixture> {
  return openVpnFixture(
    t,
    (_rows, database) => createEmbeddedVpn(new StoredNetworks(database)),
    async (network, node, _token, fixture) => {
      await fixture.sql(
        `insert into mesh_member (node_id, cluster_id, host_index, public_key, endpoints, inserted_at, updated_at)
      select $1, c.id, coalesce((select max(host_index) from mesh_member where cluster_id = c.id), 1) + 1, $3, '[]', now(), now() from cluster c where 'cluster-' || c.name = $2`,
        [node, network, Buffer.from(v7().replaceAll('-', '').repeat(2), 'hex').toString('base64')],
      );
    },
  );
}

/** A fixture whose manager is a Netmaker at this URL. */
export function netmakerFixture(
  t: ExecutionContext,
  at: { readonly url: string; readonly masterKey: string },
  register: (token: string, name: string) => Promise<unknown>,
): Promise<VpnFixture> {
  return openVpnFixture(
    t,
    (rows) => new NetmakerVpn({ ...at, domain: DOMAIN, rows, nowMs: () => Date.now() }),
    async (_network, node, token) => {
      await register(token ?? '', hostNameOf(node));
    },
  );
}
