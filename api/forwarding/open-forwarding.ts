/** Forwarding, put together: who owns what, as rows and this admin know it, and calls to the others. */
import { randomUUID } from 'node:crypto';
import type { Address } from '../../actors/messages.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Standing } from '../../actors/standing.ts';
import { monotonicMs } from '../../transport/net/clock.ts';
import type { Log } from '../../transport/net/log.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import { Forwarding } from './forwarding.ts';
import type { HeldHere, OwnersPort, PeerCalls } from './ports.ts';
import type { Reads } from '../ports.ts';

/** The parts of the admin that it is made of. */
export interface ForwardingParts {
  readonly rows: {
    readonly operations: { readonly reads: Reads };
    owners(here: HeldHere): OwnersPort;
  };
  readonly actors: {
    readonly tree: {
      readonly ownership: { hasPeers(): boolean; standing(): Standing };
      readonly directory: { find(address: Address): { readonly cluster: ClusterId | null } | undefined };
      readonly held: Pick<HeldHere, 'epochOf'>;
    };
  };
  readonly publishing: Pick<HeldHere, 'deliversWebhooks'>;
  readonly links: { readonly calls: PeerCalls };
  readonly clock: Clock;
  readonly log: Log;
}

/** Nothing is asked of anybody yet. */
export function openForwarding({ rows, links, actors, publishing, clock, log }: ForwardingParts): Forwarding {
  const { ownership, directory, held } = actors.tree;
  const owners = rows.owners({
    hasPeers: () => ownership.hasPeers(),
    clusterOfNode: (id) => directory.find({ kind: 'node', id })?.cluster ?? null,
    epochOf: (cluster, isFresh) => held.epochOf(cluster, isFresh),
    isOrphan: (cluster) => ownership.standing().orphans.some((orphan) => orphan.cluster === cluster),
    deliversWebhooks: () => publishing.deliversWebhooks(),
  });
  const { reads } = rows.operations;
  return new Forwarding({ owners, calls: links.calls, reads, clock, monotonicMs, newCallId: randomUUID, log });
}
