/** Agents that enrol at the rows: one after another, at once, and once more. */
import { v7 } from 'uuid';
import { NothingWritten } from '../../../../actors/ports.ts';
import type { NodeEnrolled } from '../../../../actors/writes.ts';
import { scaled } from '../../../support/busy.ts';
import { enrolled, type ClusterLease, type Fixture } from '../../../support/database/committer-fixture.ts';

/** What waits for its turn is committed again for so long, in ms. */
const TURN_MS_MAX = scaled(10_000);

/** Commits it, and again where its turn came too late on a busy machine, so that nothing of it was written. */
export async function committed(fixture: Fixture, lease: ClusterLease, write: NodeEnrolled): Promise<string[]> {
  const beganMs = performance.now();
  for (;;) {
    try {
      return await fixture.commit(lease, [enrolled(write)]);
    } catch (error) {
      if (!(error instanceof NothingWritten) || performance.now() - beganMs > TURN_MS_MAX) throw error;
    }
  }
}

/** What agents that come one after another are told. */
export async function told(
  fixture: Fixture,
  lease: ClusterLease,
  ...writes: readonly NodeEnrolled[]
): Promise<string[]> {
  const outcomes: string[] = [];
  for (const write of writes) outcomes.push(...(await committed(fixture, lease, write)));
  return outcomes;
}

/** What agents that come at once are told, in no order: every second of them by the other admin, where there is one. */
export async function toldAtOnce(
  fixtures: readonly Fixture[],
  lease: ClusterLease,
  writes: readonly NodeEnrolled[],
): Promise<string[]> {
  const outcomes = await Promise.all(
    writes.map((write, index) => committed(fixtures[index % fixtures.length]!, lease, write)),
  );
  return outcomes.flat().toSorted();
}

/** The same machine once more, as after an answer that was lost. */
export function retryOf(first: NodeEnrolled, machineSecretHash: Uint8Array | null = null): NodeEnrolled {
  return {
    ...first,
    spendsUse: false,
    existing: { type: 'retry', machineSecretHash },
    machineSecretHash,
    tokenHash: Buffer.from(v7()),
  };
}

/** Uses that the only key has left, and nodes that are counted. */
export const usesAndNodes = (fixture: Fixture) =>
  fixture.rows('select uses_remaining as uses, (select node_count from cluster) as nodes from enrollment_key');
