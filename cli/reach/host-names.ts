/** What can be said of a node without asking the service. */

import { Problem } from '../problem.ts';

/** Port of a node's SSH server when nothing else is said. Source: docs/settings.md. */
export const SSH_PORT = 40_022;

/**
 * A host name (RFC 1123) of at most 253 characters: what may stand in a line of a configuration, or in a command of a
 * shell.
 */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/iu;

/** The name, as the service said it. Throws a Problem for one that is none: it could hold lines or commands. */
export function checkedHostName(name: unknown): string {
  if (typeof name === 'string' && HOST_NAME.test(name)) return name;
  throw new Problem(
    `the service says ${JSON.stringify(name)?.slice(0, SHOWN_CHARACTERS_MAX) ?? 'nothing'}, which is no host name: nothing was written or started`,
  );
}

/** The port, as the service said it. Throws a Problem for one that is none. */
export function checkedPort(port: unknown): number {
  if (Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65_535) return Number(port);
  throw new Problem(
    `the service says ${JSON.stringify(port)?.slice(0, SHOWN_CHARACTERS_MAX) ?? 'nothing'}, which is no port: nothing was started`,
  );
}

/** Longest piece of a wrong name that is repeated, in characters. */
const SHOWN_CHARACTERS_MAX = 128;

/**
 * Whether a name is a whole host name, such as web-1.prod.edge.internal, rather than one that the service completes.
 */
export function isHostName(name: string): boolean {
  return /^\w[\w-]*(?:\.\w[\w-]*){2,}\.?$/u.test(name);
}
