/**
 * Where a client of the admin's proxies is taken: to a node (forward mode) or through one (chaining). The admin itself
 * dials nothing (R1).
 */
import type { NodeId } from '../protocol/ids.ts';
import type { DialRequest, ProxyPorts } from '../proxies/ports.ts';
import { DIAL_FAILURES, notDialled } from '../net/streams/dialled.ts';
import type { DialFailure, Dialled } from '../net/streams/dialled.ts';
import { nodeNames } from '../../actors/node-names.ts';
import type { NodeName } from '../../actors/node-names.ts';
import type { Tunnels } from './tunnels.ts';

/** Username of forward mode. Source: docs/reaching.md. */
export const FORWARD_USERNAME = '_';

/** What is asked on the way. */
export interface ReachPorts {
  readonly tunnels: Pick<Tunnels, 'reach'>;
  /** Domain of all node host names. */
  readonly domain: string;
  /** Which node the first of these names is that exists; null when none does. Rejects when the database is away. */
  readonly nodeByName: (names: readonly NodeName[]) => Promise<NodeId | null>;
}

/** How a client asked: for a machine, or for what is behind one. */
export type ReachMode = 'forward' | 'chain';

/** What became of what clients asked for, by mode. */
export type ReachCounters = Readonly<Record<ReachMode, Record<'connected' | DialFailure, number>>>;

/** The admin's way to machines. */
export interface Reach {
  /** For the proxies. Never rejects. */
  readonly dial: ProxyPorts['dial'];
  readonly counters: ReachCounters;
}

/** Nothing was asked for at first. */
export function createReach(ports: ReachPorts): Reach {
  const counters = { forward: zeros(), chain: zeros() };
  return {
    counters,
    async dial({ username, host, port }, signal) {
      const mode = username === FORWARD_USERNAME ? 'forward' : 'chain';
      const dialled = await (
        mode === 'forward' ? forward(ports, host, port, signal) : chain(ports, { username, host, port }, signal)
      ).catch(() => UNKNOWN);
      counters[mode][dialled.ok ? 'connected' : dialled.failure] += 1;
      return dialled;
    },
  };
}

const UNKNOWN = notDialled('overloaded', 'The database does not answer: try again shortly.');

function zeros(): Record<'connected' | DialFailure, number> {
  return {
    connected: 0,
    ...(Object.fromEntries(DIAL_FAILURES.map((failure) => [failure, 0])) as Record<DialFailure, number>),
  };
}

async function forward(
  { tunnels, domain, nodeByName }: ReachPorts,
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<Dialled> {
  const names = nodeNames(host, domain);
  if (names.length === 0)
    return notDialled(
      'unknown_node',
      `With the username ${FORWARD_USERNAME} the destination must be a node or alias, such as web-1.prod.${domain}. To go through a node, give its host name as the username.`,
    );
  const node = await nodeByName(names);
  return node === null
    ? notDialled('unknown_node', `No node or alias has the name ${host}.`)
    : tunnels.reach(node, { use: 'self', host: 'localhost', port }, signal);
}

async function chain(
  { tunnels, domain, nodeByName }: ReachPorts,
  { username, host, port }: DialRequest,
  signal: AbortSignal,
): Promise<Dialled> {
  const names = nodeNames(username, domain);
  if (names.length === 0)
    return notDialled(
      'unknown_node',
      `The username must be ${FORWARD_USERNAME} or the host name of a node or alias, such as web-1.prod.${domain}.`,
    );
  const node = await nodeByName(names);
  return node === null
    ? notDialled('unknown_node', 'No node or alias has the name that was given as the username.')
    : tunnels.reach(node, { use: 'chain', host, port }, signal);
}
