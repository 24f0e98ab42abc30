/** What can be said of a node without asking the service. */

/** Port of a node's SSH server when nothing else is said. Source: spec.md, AGENT_SSH_PORT. */
export const SSH_PORT = 40_022;

/** Whether a name is a whole host name, such as web-1.prod.edge.internal, rather than one that the service completes. */
export function isHostName(name: string): boolean {
  return /^[\w-]+(?:\.[\w-]+){2,}\.?$/u.test(name);
}
