/**
 * One round of reconciling: moves that are not finished, then whatever differs between the rows and the manager of
 * networks. Takes no input.
 */
import { driftOf, type Repair } from '../../actors/vpn/drift.ts';
import type { VpnRows } from '../../actors/vpn/rows.ts';
import { VpnRefused, type VpnManager } from '../../actors/vpn/vpn.ts';
import { finishMove } from './moves.ts';

/** Moves that one round goes on with; the others wait for the next. */
export const MOVES_MAX = 100;

/** Repairs that one round does. */
export const REPAIRS_MAX = 200;

/** What a round needs. */
export interface RoundPorts {
  readonly manager: VpnManager;
  readonly rows: VpnRows;
  /** Throws when this admin may not go on. Asked before everything that changes something. */
  readonly keep: () => void;
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
 * nothing else from being done.
 * Rejects when the manager or the database is away, or when `keep` throws.
 */
export async function reconcile(ports: RoundPorts, compares: boolean): Promise<RoundOutcome> {
  const { manager, rows, keep } = ports;
  const refused = new Set<string>();
  const tried = async (act: () => Promise<void>): Promise<boolean> => {
    try {
      await act();
      return true;
    } catch (error) {
      if (!(error instanceof VpnRefused)) throw error;
      refused.add(error.message);
      return false;
    }
  };

  const moves = await rows.moves(MOVES_MAX);
  let moved = 0;
  if (moves.length > 0) {
    const seen = await manager.survey();
    for (const move of moves) if (await tried(() => finishMove(ports, move, seen))) moved += 1;
  }
  if (!compares)
    return {
      moved,
      repaired: {},
      refused: [...refused],
      misranged: [],
      plan: moves.map((move) => `${move.node} ${move.step} ${move.version}`).join(),
    };

  const seen = await manager.survey(); // before the rows: see driftOf
  const { repairs, misranged } = driftOf(await rows.wanted(), seen);
  const repaired: Partial<Record<Repair['type'], number>> = {};
  for (const repair of repairs.slice(0, REPAIRS_MAX)) {
    keep();
    if (await tried(() => repairOne(manager, repair))) repaired[repair.type] = (repaired[repair.type] ?? 0) + 1;
  }
  return {
    moved,
    repaired,
    refused: [...refused],
    misranged,
    plan: repairs.length === 0 ? '' : JSON.stringify(repairs.slice(0, REPAIRS_MAX)),
  };
}

async function repairOne(manager: VpnManager, repair: Repair): Promise<void> {
  switch (repair.type) {
    case 'ensure-network':
      return manager.ensureNetwork(repair.network);
    case 'leave':
      return manager.leave(repair.network, repair.node);
    case 'expel':
      return manager.expel(repair.network, repair.host);
    case 'join':
      await manager.join(repair.network, repair.node);
      return undefined;
    case 'set-names':
      return manager.setNames(repair.network, repair.names);
    case 'remove-host':
      return manager.removeHost(repair.node);
    case 'remove-network':
      return manager.removeNetwork(repair.name);
    default:
      throw new Error(`no such repair: ${JSON.stringify(repair satisfies never)}`);
  }
}
