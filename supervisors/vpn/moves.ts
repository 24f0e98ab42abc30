/**
 * Moves of nodes between networks, finished after the transaction that stored them: leave, join, names. Each step may
 * be done again.
 */
import { namesFor } from '../../actors/vpn/drift.ts';
import type { UnfinishedMove, VpnRows } from '../../actors/vpn/rows.ts';
import type { Keep, VpnManager, VpnSurvey } from '../../actors/vpn/vpn.ts';

/** What finishing a move needs. */
export interface MovePorts {
  readonly manager: VpnManager;
  readonly rows: Pick<VpnRows, 'wantedOf' | 'advance' | 'finish'>;
  /** Throws when this admin may not go on. Asked before everything that changes something. */
  readonly keep: Keep;
}

/**
 * Goes on where the move stands, and does each step before it is stored as done: after a crash it is done once more. A
 * node leaves every network that it is in, not only the one it was in before this move, and only then joins; one that
 * is no host yet is invited to the right network anyway. A move that was overtaken by another ends here: that one is
 * found by itself.
 */
export async function finishMove(
  { manager, rows, keep }: MovePorts,
  move: UnfinishedMove,
  seen: VpnSurvey,
): Promise<void> {
  let at: UnfinishedMove | null = move;
  if (at.step === 'leave') {
    const left = new Set([
      at.from,
      ...seen.members.filter((member) => member.node === move.node).map((member) => member.network),
    ]);
    for (const network of left) {
      if (network === at.to) continue;
      keep();
      await manager.leave(network, at.node, keep);
    }
    at = await rows.advance(at, 'join');
  }
  if (at?.step === 'join') {
    const [network] = at.to === null ? [] : await rows.wantedOf([at.to]);
    if (network?.nodes.some(({ node }) => node === move.node) === true) {
      keep();
      const { name, ipv4Range, ipv6Range } = network;
      await manager.ensureNetwork({ name, ipv4Range, ipv6Range }, keep);
      await manager.join(network.name, at.node, keep);
    }
    at = await rows.advance(at, 'names');
  }
  if (at?.step === 'names') {
    for (const network of await rows.wantedOf([at.from, ...(at.to === null ? [] : [at.to])])) {
      keep();
      const members = new Set(await manager.members(network.name));
      await manager.setNames(network.name, namesFor(network.nodes.filter(({ node }) => members.has(node))), keep);
    }
    await rows.finish(at);
  }
}
