/** Where a node is reached, from what the service knows of it. */
import type { Api, Node } from '../service/client.ts';
import { nodeIdOf, ofNode } from '../names/node-names.ts';
import { Problem } from '../problem.ts';
import { checkedHostKey } from './host-keys.ts';
import { checkedHostName, checkedPort } from './host-names.ts';

/** Host name of a node as it was called, and more of it. */
export interface NodePlace {
  readonly id: string;
  readonly host: string;
  readonly sshPort: number;
  /** The host name that is its own, by whatever name it was called: what its host key is remembered under. */
  readonly ownHost: string;
  readonly status: Node['status'];
  /** Why its SSH server does not work, in the agent's words; null: it does, as far as is known. */
  readonly sshProblem: string | null;
  /** What people call it. */
  readonly name: string;
  /** The host key of its SSH server, as the service tells it; null: it knows none. */
  readonly hostKey: string | null;
}

/**
 * Asks for a node by id, beginning of an id, alias, alias.cluster or host name. Rejects with a Problem when it is none
 * or several, or what the service says is no host name and no port.
 */
export async function nodePlace(api: Api, name: string): Promise<NodePlace> {
  const node = await ofNode(name, nodeIdOf(api, name), (id) => api.get_node.query({ id }));
  return placeOf(node, hostOf(node, name.trim().toLowerCase().replace(/\.$/u, '')));
}

/** The same of a node that is known, by one of its host names. Throws a Problem. */
export function placeOf(node: Node, host: string): NodePlace {
  return {
    id: node.id,
    host: checkedHostName(host),
    sshPort: checkedPort(node.ssh_port),
    ownHost: checkedHostName(node.vpn_hostname),
    status: node.status,
    sshProblem: node.status_evidence?.services.find(({ name: service }) => service === 'ssh')?.problem ?? null,
    name: node.name,
    hostKey: checkedHostKey(node.facts?.ssh_host_key),
  };
}

/** The same, and rejects when it is known not to be connected: ssh would tell that in words of its own after ours. */
export async function connectedPlace(api: Api, name: string): Promise<NodePlace> {
  const place = await nodePlace(api, name);
  if (place.status === 'unreachable')
    throw new Problem(`${place.host} is not connected now: try again when that machine is back`);
  return place;
}

// A host name of its own stays what it was called by, so that settings of ssh for this name apply. What its machine
// calls itself may look like one, and is known to no proxy.
function hostOf(node: Node, name: string): string {
  const own = [node, ...node.aliases].map(({ vpn_hostname: host }) => host);
  if (own.some((host) => name === host || name === host.replace('.', '.cluster-'))) return name;
  const alias = node.aliases.find(({ name: known }) => known === name.split('.')[0]);
  return alias?.vpn_hostname ?? node.vpn_hostname;
}
