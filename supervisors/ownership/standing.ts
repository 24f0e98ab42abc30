/** Whether the admins have room for all clusters: the one place that judges it. Pure. */
import { WHOLE, type Orphan, type Standing } from '../../actors/standing.ts';
import { compareText, type AdminLoad } from './placement.ts';

/**
 * What the rows of one snapshot come to: `admins` are those that are alive, with what they own, `free` the clusters
 * without an owner, `assigned` those of them that an admin takes: they are no orphans. Without an admin nothing can be
 * said: whole.
 */
export function standingOf(
  admins: readonly AdminLoad[],
  free: readonly Orphan[],
  assigned: ReadonlyMap<string, string>,
): Standing {
  if (admins.length === 0) return WHOLE;
  const orphans = free
    .filter(({ cluster }) => !assigned.has(cluster))
    .toSorted((one, other) => other.nodes - one.nodes || compareText(one.name, other.name));
  const nodes = sum(admins.map((admin) => admin.nodes)) + sum(free.map((cluster) => cluster.nodes));
  const isOverfull = nodes > sum(admins.map(({ capacity }) => capacity));
  const rooms = admins.map(({ id, capacity, nodes: here }) => {
    const coming = free.filter(({ cluster }) => assigned.get(cluster) === id);
    return capacity - here - sum(coming.map((cluster) => cluster.nodes));
  });
  return {
    kind: isOverfull ? 'overfull' : orphans.length > 0 ? 'fragmented' : 'whole',
    orphans,
    roomMax: Math.max(0, ...rooms),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
