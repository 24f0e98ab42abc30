/** An admin over leases in memory that brings clusters to life, by a clock that goes as a test says. */
import { setImmediate as turn } from 'node:timers/promises';
import { NothingWritten } from '../../../../actors/ports.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { ClusterActivation } from '../../../../supervisors/ownership/cluster-activation.ts';
import { createHeldLeases } from '../../../../supervisors/ownership/held.ts';
import type { LeasePort, SurveyedAdmin } from '../../../../supervisors/ownership/lease-port.ts';
import { Ownership } from '../../../../supervisors/ownership/loop.ts';
import type { OwnershipPorts } from '../../../../supervisors/ownership/ownership-ports.ts';
import type { Loader } from '../../../../supervisors/ports.ts';
import type { ClusterId } from '../../../../transport/protocol/ids.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/log.ts';

/** How long a lease lasts, in ms. */
export const LEASE_MS = 3_000;

/** When the server ends a statement, in ms. */
export const STATEMENT_MS = 2_500;

/** Nodes that could not be read in it. */
export const tooLong = () => new NothingWritten('The database is not available (loading open executions).');

/** The admin itself, as a survey shows it. */
export const ME: SurveyedAdmin = {
  id: 'me',
  name: 'me',
  capacity: 10_000,
  clusters: 0,
  nodes: 0,
  isHeard: true,
  peerUrl: 'http://me',
  linkVersion: 9,
  drainingSinceMs: null,
};

/** Three clusters. */
export const [EAST, NORTH, WEST] = ['east', 'north', 'west'] as unknown as readonly [ClusterId, ClusterId, ClusterId];

/** The only node of its cluster; `read` tells readings apart. */
export const nodeOf = (cluster: ClusterId, read = 1) =>
  ({ record: { id: `node-of-${cluster}`, cluster }, read }) as unknown as NodeState;

/** How the nodes of some clusters are read, by the clock of the fixture. */
export type Reading = (clusters: readonly ClusterId[], isHere: (node: string) => boolean) => AsyncIterable<NodeState[]>;

/** An admin over leases in memory, with actors that are only noted: `began` are what came to life, in order. */
export function fixture(nodes: (wait: (ms: number) => Promise<void>) => Reading) {
  const clock = createFakeClock(0);
  const leaseClockMs = (): number => clock.nowMs();
  const held = createHeldLeases(LEASE_MS, leaseClockMs);
  const log = recordingLog();
  const here = new Set<string>();
  const began: unknown[] = [];
  const counts = { missed: 0 };
  const read = nodes((ms) => new Promise((resolve) => void clock.after(ms, resolve)));
  const ports = {
    held,
    log,
    clock,
    leaseClockMs,
    missed: () => void (counts.missed += 1),
    loader: {
      clusters: (ids: readonly ClusterId[]) => Promise.resolve(ids.map((id) => ({ id }))),
      nodes: (ids: readonly ClusterId[], isHere = () => false) => read(ids, isHere),
    } as unknown as Loader,
    directory: {
      activate({ kind, id }: { kind: string; id: string }, state: unknown) {
        if (kind === 'node' && !here.has(id)) began.push(state);
        here.add(id);
      },
      isLocal: ({ id }: { id: string }) => here.has(id),
      evict: (cluster: ClusterId) => void here.delete(nodeOf(cluster).record.id),
    },
  };
  /** Time goes by, in steps between which all that can be done is done. */
  const pass = async (ms: number): Promise<void> => {
    for (let leftMs = ms; leftMs > 0; leftMs -= 100) {
      await turn();
      clock.pass(100);
    }
    await turn();
  };
  return { ports, clock, held, log, here, began, counts, pass };
}

/** A loop that has all of these by its rows, and when it renewed its leases, in ms. */
export function owner(
  { ports, clock }: ReturnType<typeof fixture>,
  clusters: readonly ClusterId[],
  more: (ownership: () => Ownership) => Partial<LeasePort> = () => ({}),
) {
  const owned = clusters.map((cluster) => ({ cluster, epoch: 1 }));
  const renewedMs: number[] = [];
  const leases: Partial<LeasePort> = {
    survey: () => Promise.resolve({ admins: [ME], free: [], databaseMs: clock.nowMs(), nextFreeMs: null }),
    claim: () => Promise.resolve([]),
    release: () => Promise.resolve(),
    mine: () => Promise.resolve(clusters.map((cluster) => ({ cluster, name: cluster, nodes: 1 }))),
    retake: () => Promise.resolve(owned),
    renew: (_admin, asked) => {
      renewedMs.push(clock.nowMs());
      return Promise.resolve(asked);
    },
    ...more(() => ownership),
  };
  const ownership: Ownership = new Ownership({
    ...ports,
    adminId: ME.id,
    leases,
    takeovers: { take: leases.claim },
    leaseMs: LEASE_MS,
    settledMs: 0,
    sessions: { departing: () => 0 },
    checkIn: () => Promise.resolve(),
    wasDatabaseAway: () => false,
    isSetBack: () => false,
  } as unknown as OwnershipPorts);
  return { ownership, renewedMs };
}

/** Activation alone, of clusters that were gained under this epoch. */
export function activation(admin: ReturnType<typeof fixture>) {
  const activated = new ClusterActivation(admin.ports);
  return {
    activated,
    gained: (epoch: number, ...clusters: readonly ClusterId[]) => {
      activated.gained(
        clusters.map((cluster) => ({ cluster, epoch })),
        admin.clock.nowMs(),
      );
      activated.begin();
    },
  };
}
