/** Rows and a Netmaker that should have what they say, round by round. */
import type { ExecutionContext } from 'ava';
import { hostNameOf, VpnUnavailable, type VpnManager } from '../../../../actors/vpn/vpn.ts';
import { noRefusals } from '../../../../supervisors/vpn/refusals.ts';
import { reconcile, type RoundOutcome, type RoundPorts } from '../../../../supervisors/vpn/round.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { startFakeNetmaker, type FakeNetmaker } from '../../../support/netmaker/netmaker.ts';
import { MODERN, type Quirks } from '../../../support/netmaker/quirks.ts';
import { netmakerFixture, type VpnFixture } from '../../../support/vpn/database-fixture.ts';

/** One round of these rows, by their manager or by another one; after others where it knows what they were refused. */
export function roundOf(
  fixture: VpnFixture,
  manager: VpnManager = fixture.manager,
  more: Partial<Pick<RoundPorts, 'keep' | 'refused'>> = {},
): Promise<RoundOutcome> {
  return reconcile({ manager, rows: fixture.rows, keep: () => {}, refused: noRefusals(), ...more }, true);
}

/** Rounds until nothing differs. `before` happens before each. */
export async function settle(fixture: VpnFixture, before: () => void = () => {}): Promise<void> {
  for (let rounds = 0; rounds < 50; rounds += 1) {
    before();
    const { plan, refused, moved } = await roundOf(fixture);
    if (plan === '' && refused.length === 0 && moved === 0) return;
  }
  throw new Error('the rounds come to no end');
}

/** What is in a Netmaker: hosts, and networks with their members and names. */
export type NetmakerState = ReturnType<FakeNetmaker['state']>;

/** Rows, and a Netmaker whose hosts enter as they are told. */
export class NetmakerRounds {
  readonly netmaker: FakeNetmaker;
  readonly fixture: VpnFixture;

  private constructor(netmaker: FakeNetmaker, fixture: VpnFixture) {
    this.netmaker = netmaker;
    this.fixture = fixture;
  }

  static async open(t: ExecutionContext, quirks: Partial<Quirks> = {}): Promise<NetmakerRounds> {
    const netmaker = await startFakeNetmaker(t, { ...MODERN, domain: '', ...quirks });
    return new NetmakerRounds(
      netmaker,
      await netmakerFixture(t, netmaker, (token, name) => netmaker.register(token, name)),
    );
  }

  /** Rounds until nothing differs. */
  async settled(): Promise<void> {
    await settle(this.fixture, () => this.netmaker.settle());
  }

  /** The machines of all nodes that are no hosts yet enter as they are told. */
  async entered(): Promise<void> {
    const made = new Set((await this.fixture.manager.networks()).map(({ name }) => name));
    for (const { node, network } of await this.fixture.rows.uninvited(1_000, null)) {
      if (!made.has(network)) continue; // as whoever invites: it is about to be made
      const token = await this.fixture.manager.joinToken(network);
      if (token !== null) await this.netmaker.register(token, hostNameOf(node));
    }
    await this.fixture.manager.hosts(); // and are known
  }

  /** Networks are made, machines enter them, and nothing differs. */
  async made(): Promise<void> {
    await roundOf(this.fixture);
    await this.entered();
    await this.settled();
  }

  /** Names of the networks that have hosts. */
  peopled(): readonly string[] {
    return Object.entries(this.netmaker.state().networks)
      .filter(([, network]) => network.hosts.length > 0)
      .map(([name]) => name);
  }

  /** What the Netmaker should have, by the rows alone. */
  async expected(): Promise<NetmakerState> {
    const rows = await this.fixture.sql<{ name: string; node: NodeId | null; aliases: string[] | null }>(
      `select c.name, n.id as node, (select array_agg(a.name) from alias a where a.node_id = n.id) as aliases from cluster c left join node n on n.cluster_id = c.id order by n.id`,
    );
    const networks: Record<string, { hosts: string[]; names: Record<string, string> }> = {};
    for (const { name, node, aliases } of rows) {
      const network = (networks[`cluster-${name}`] ??= { hosts: [], names: {} });
      if (node === null) continue;
      network.hosts.push(hostNameOf(node));
      for (const label of [hostNameOf(node), ...(aliases ?? [])])
        network.names[`${label}.${name}.edge.test`] = hostNameOf(node);
    }
    for (const network of Object.values(networks)) network.hosts.sort();
    return { networks, hosts: rows.flatMap(({ node }) => (node === null ? [] : [hostNameOf(node)])).toSorted() };
  }
}

/** Calls that change a VPN. */
const CHANGES: ReadonlySet<unknown> = new Set<keyof VpnManager>([
  'ensureNetwork',
  'removeNetwork',
  'removeHost',
  'join',
  'leave',
  'expel',
  'setNames',
]);

/**
 * A manager that is cut off at its `at`-th change, before or after it has done it; 0: never. `observe` is asked after
 * each.
 */
export function crashing(manager: VpnManager, at: number, isDone: boolean, observe: () => void = () => {}): VpnManager {
  let calls = 0;
  return new Proxy(manager, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== 'function') return member;
      const call = member.bind(target) as (...args: readonly unknown[]) => Promise<unknown>;
      if (!CHANGES.has(name)) return call;
      return async (...args: readonly unknown[]) => {
        calls += 1;
        if (calls === at && !isDone) throw new VpnUnavailable('cut off');
        const result = await call(...args);
        observe();
        if (calls === at) throw new VpnUnavailable('cut off');
        return result;
      };
    },
  });
}
