/**
 * One round of reconciling: moves that are not finished, then whatever differs between the rows and the manager of
 * networks. Takes no input but what earlier rounds did not get done.
 */
import { unreachable } from '../../actors/step.ts';
import { driftOf, type Repair } from '../../actors/vpn/drift.ts';
import type { VpnRows } from '../../actors/vpn/rows.ts';
import { VpnRefused, VpnUnavailable, type Keep, type VpnManager } from '../../actors/vpn/vpn.ts';
import { finishMove } from './moves.ts';
import type { Refusals, RoundRefusals } from './refusals.ts';

/** Moves that one round goes on with; the others wait for the next. */
export const MOVES_MAX = 100;

/** Repairs that one round tries; the others wait for the next, and go before those that were refused in this one. */
export const REPAIRS_MAX = 200;

/** What a round needs. */
export interface RoundPorts {
  readonly manager: VpnManager;
  readonly rows: VpnRows;
  /** Throws when this admin may not go on. Asked before everything that changes something. */
  readonly keep: Keep;
  /** What earlier rounds did not get done; is told of what this one does. */
  readonly refused: RoundRefusals;
}

/** What a round came to. */
export interface RoundOutcome {
  /** Moves that came to their end, and repairs that were done, by kind. */
  readonly moved: number;
  readonly repaired: Readonly<Partial<Record<Repair['type'], number>>>;
  /** What was refused, one sentence each, without repetition. */
  readonly refused: readonly string[];
  /** Networks whose ranges are not those of their clusters. */
  readonly misranged: readonly string[];
  /** What was planned, to tell whether the next round plans the same. Empty: nothing differed. */
  readonly plan: string;
}

/**
 * Runs a round. `compares`: everything is compared, else only moves are finished. One thing that is refused keeps
 * nothing else from being done, nor does one for which the manager is always too busy: it comes last from then on.
 * Rejects when the manager or the database is away, or when `keep` throws.
 */
export async function reconcile(ports: RoundPorts, compares: boolean): Promise<RoundOutcome> {
  const refused = new Set<string>();
  const moves = await ports.rows.moves(MOVES_MAX, ports.refused.moves.keys());
  if (moves.length < MOVES_MAX) ports.refused.moves.keepOnly(new Set(moves.map(({ node }) => node)));
  let moved = 0;
  if (moves.length > 0) {
    const seen = await ports.manager.survey();
    for (const move of moves)
      if (await isDone(() => finishMove(ports, move, seen), move.node, ports.refused.moves, refused)) moved += 1;
  }
  if (compares) return { moved, ...(await repair(ports, refused)), refused: [...refused] };
  return {
    moved,
    repaired: {},
    refused: [...refused],
    misranged: [],
    plan: moves.map((move) => `${move.node} ${move.step} ${move.version}`).join(),
  };
}

/** Compares, and repairs what differs. A node that was not taken out of one network joins no other. */
async function repair(
  { manager, rows, keep, refused: { repairs: refusals } }: RoundPorts,
  refused: Set<string>,
): Promise<Pick<RoundOutcome, 'repaired' | 'misranged' | 'plan'>> {
  const seen = await manager.survey(); // before the rows: see driftOf
  const { repairs, misranged } = driftOf(await rows.wanted(), seen);
  refusals.keepOnly(new Set(repairs.map(keyOf)));
  const leaves = repairs.filter((one) => one.type === 'leave');
  const staying = Map.groupBy(leaves, ({ node }) => node);
  const repaired: Partial<Record<Repair['type'], number>> = {};
  let tries = 0;
  for (const one of refusals.lastOf(repairs, keyOf)) {
    if (tries === REPAIRS_MAX) break;
    if (one.type === 'join' && (staying.get(one.node) ?? []).length > 0) continue;
    tries += 1;
    keep();
    if (!(await isDone(() => repairOne(manager, one, keep), keyOf(one), refusals, refused))) continue;
    repaired[one.type] = (repaired[one.type] ?? 0) + 1;
    if (one.type === 'leave') staying.get(one.node)?.pop(); // however many are left of them
  }
  return { repaired, misranged, plan: repairs.length === 0 ? '' : JSON.stringify(repairs.slice(0, REPAIRS_MAX)) };
}

/** Does it; false: it was refused, and why is noted. */
async function isDone<Key extends string>(
  act: () => Promise<void>,
  key: Key,
  refusals: Refusals<Key>,
  refused: Set<string>,
): Promise<boolean> {
  try {
    await act();
    refusals.delete(key);
    return true;
  } catch (error) {
    if (error instanceof VpnRefused || error instanceof VpnUnavailable) refusals.add(key);
    if (!(error instanceof VpnRefused)) throw error;
    refused.add(error.message);
    return false;
  }
}

/** The same for the same repair in the next round, whatever names it sets by then. */
function keyOf(repair: Repair): string {
  switch (repair.type) {
    case 'ensure-network':
      return `${repair.type} ${repair.network.name}`;
    case 'leave':
    case 'join':
      return `${repair.type} ${repair.network} ${repair.node}`;
    case 'expel':
      return `${repair.type} ${repair.network} ${repair.host}`;
    case 'set-names':
      return `${repair.type} ${repair.network}`;
    case 'remove-host':
      return `${repair.type} ${repair.node}`;
    case 'remove-network':
      return `${repair.type} ${repair.name}`;
    default:
      return unreachable(repair);
  }
}

async function repairOne(manager: VpnManager, repair: Repair, keep: Keep): Promise<void> {
  switch (repair.type) {
    case 'ensure-network':
      return manager.ensureNetwork(repair.network, keep);
    case 'leave':
      return manager.leave(repair.network, repair.node, keep);
    case 'expel':
      return manager.expel(repair.network, repair.host, keep);
    case 'join':
      await manager.join(repair.network, repair.node, keep);
      return undefined;
    case 'set-names':
      return manager.setNames(repair.network, repair.names, keep);
    case 'remove-host':
      return manager.removeHost(repair.node, keep);
    case 'remove-network':
      return manager.removeNetwork(repair.name, keep);
    default:
      return unreachable(repair);
  }
}
