/** What must be done so that the VPN manager has what the rows say. Pure. */
import type { NodeId } from '../../transport/protocol/ids.ts';
import { hostNameOf, type VpnNetwork, type VpnSurvey, type WantedName } from './vpn.ts';

/** A node as the rows have it. */
export interface WantedNode {
  readonly node: NodeId;
  readonly aliases: readonly string[];
}

/** A network that should be, with the nodes of its cluster, whether they are hosts or not. */
export interface WantedNetwork extends VpnNetwork {
  readonly nodes: readonly WantedNode[];
}

/** What should be. `gone`: nodes that were hosts by our own records and do not exist any more. */
export interface WantedVpn {
  readonly networks: readonly WantedNetwork[];
  readonly gone: readonly NodeId[];
}

/** One thing to do. */
export type Repair =
  | { readonly type: 'ensure-network'; readonly network: VpnNetwork }
  | { readonly type: 'leave'; readonly network: string; readonly node: NodeId }
  | { readonly type: 'expel'; readonly network: string; readonly host: string }
  | { readonly type: 'join'; readonly network: string; readonly node: NodeId }
  | { readonly type: 'set-names'; readonly network: string; readonly names: readonly WantedName[] }
  | { readonly type: 'remove-host'; readonly node: NodeId }
  | { readonly type: 'remove-network'; readonly name: string };

/**
 * What differs. `misranged`: networks whose ranges are not those of their clusters, which cannot be changed while they
 * have members.
 */
export interface Drift {
  readonly repairs: readonly Repair[];
  readonly misranged: readonly string[];
}

/**
 * Compares. What is to go comes first: whatever is refused behind it, nobody stays who should not. A node leaves where
 * it should not be before it joins where it should, so that it is never in two networks; also where that is a network
 * that is to go itself, as that may be refused.
 * Nodes that are no hosts yet join by themselves, and names wait until who bears them is a member: both are found by
 * the next comparison. The survey must be older than the rows: what was made by somebody who knew newer rows is not a
 * stranger then.
 */
export function driftOf(wanted: WantedVpn, seen: VpnSurvey): Drift {
  const seenNetworks = new Map(seen.networks.map((network) => [network.name, network]));
  const wantedNetworks = new Map(wanted.networks.map((network) => [network.name, network]));
  const gone = new Set(wanted.gone);
  const hosts = new Set(seen.hosts.map((host) => host.node));
  const membersOf = Map.groupBy(seen.members, (member) => member.network);
  const namesOf = Map.groupBy(seen.names, (name) => name.network);

  const made: Repair[] = [];
  const left: Repair[] = [];
  const joined: Repair[] = [];
  const named: Repair[] = [];
  const misranged: string[] = [];
  for (const network of wanted.networks) {
    const { name, ipv4Range, ipv6Range } = network;
    const there = seenNetworks.get(name);
    if (there === undefined) made.push({ type: 'ensure-network', network: { name, ipv4Range, ipv6Range } });
    else if (there.ipv4Range !== ipv4Range || there.ipv6Range !== ipv6Range) misranged.push(name);

    const nodes = new Map(network.nodes.map((node) => [node.node, node]));
    const present = new Set<NodeId>();
    for (const { host, node } of membersOf.get(name) ?? []) {
      if (node === null) left.push({ type: 'expel', network: name, host });
      else if (!nodes.has(node)) left.push({ type: 'leave', network: name, node });
      else present.add(node);
    }
    for (const node of nodes.keys())
      if (hosts.has(node) && !present.has(node)) joined.push({ type: 'join', network: name, node });
    const names = namesFor([...nodes.values()].filter(({ node }) => present.has(node)));
    if (!areSame(names, namesOf.get(name) ?? [])) named.push({ type: 'set-names', network: name, names });
  }
  const hostsRemoved = seen.hosts
    .filter(({ node }) => gone.has(node))
    .map(({ node }): Repair => ({ type: 'remove-host', node }));
  const networksRemoved: Repair[] = [];
  const wantedNodes = new Set(wanted.networks.flatMap(({ nodes }) => nodes.map(({ node }) => node)));
  for (const { name } of seen.networks) {
    if (wantedNetworks.has(name)) continue;
    for (const { node } of membersOf.get(name) ?? [])
      if (node !== null && wantedNodes.has(node)) left.push({ type: 'leave', network: name, node });
    networksRemoved.push({ type: 'remove-network', name });
  }
  return { repairs: [...hostsRemoved, ...left, ...networksRemoved, ...made, ...joined, ...named], misranged };
}

/** The names of these members: that of the node, and its aliases. No alias takes the name of a node. */
export function namesFor(members: readonly WantedNode[]): readonly WantedName[] {
  const nodeOf = new Map<string, NodeId>();
  for (const { node, aliases } of members) for (const name of aliases) nodeOf.set(name, node);
  for (const { node } of members) nodeOf.set(hostNameOf(node), node);
  return [...nodeOf].map(([name, node]) => ({ name, node }));
}

function areSame(wanted: readonly WantedName[], seen: VpnSurvey['names']): boolean {
  if (wanted.length !== seen.length) return false;
  const nodeOf = new Map(wanted.map(({ name, node }) => [name, node]));
  return (
    new Set(seen.map(({ name }) => name)).size === seen.length &&
    seen.every(({ name, node }) => node !== null && nodeOf.get(name) === node)
  );
}
