/**
 * Room for more nodes in a cluster whose owner is full, while another admin has some: one cluster of the owner goes
 * there, or this one itself. Pure.
 */
import type { PlacedAdmin } from './moves.ts';
import { compareText, type Move, type PlacedCluster } from './placement.ts';

/**
 * The move after which the owner of this cluster, or its next one, has room for so many nodes more: the one that moves
 * the fewest nodes. Null: no single one does, or there is room. `admins`: with their edge capacity; only those that
 * are heard and of this link version give and take.
 */
export function growthMove(
  cluster: string,
  more: number,
  { admins, clusters }: { readonly admins: readonly PlacedAdmin[]; readonly clusters: readonly PlacedCluster[] },
  linkVersion: number,
): Move | null {
  const entered = clusters.find((one) => one.cluster === cluster);
  const owner = admins.find(({ id }) => id === entered?.owner);
  if (entered === undefined || owner === undefined) return null;
  const roomOf = ({ id, capacity }: PlacedAdmin): number =>
    capacity - clusters.reduce((sum, one) => (one.owner === id ? sum + one.nodes : sum), 0);
  const missing = more - roomOf(owner);
  const [to] = admins
    .filter((one) => one !== owner && one.isHeard && !one.isDraining && one.linkVersion === linkVersion)
    .map((one) => ({ id: one.id, room: roomOf(one) }))
    .sort((a, b) => b.room - a.room || compareText(a.id, b.id));
  if (missing <= 0 || to === undefined) return null;
  const helps = ({ cluster: id, nodes }: PlacedCluster): boolean =>
    id === cluster ? nodes + more <= to.room : nodes >= missing && nodes <= to.room;
  const [moved] = clusters
    .filter((one) => one.owner === owner.id && !one.isBusy && helps(one))
    .sort((a, b) => a.nodes - b.nodes || compareText(a.name, b.name));
  return moved === undefined ? null : { cluster: moved.cluster, from: owner.id, to: to.id };
}
