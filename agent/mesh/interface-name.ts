/** The name of the interface: the same at every start, and no other agent's on this machine. */

/** For an agent with this id, a UUID. */
export function interfaceNameOf(node: string): string {
  return `edge${node.slice(0, 8)}`;
}
