/**
 * Live output of running executions: asked of the agent's session, handed to whoever listens. Never stored, never
 * queued here.
 */
import type { Tails } from '../../api/feeds/ports.ts';
import type { AdminFrameBody, AgentFrame } from '../protocol/frames.ts';
import type { ExecutionId, NodeId } from '../protocol/ids.ts';
import { TAILS_PER_SESSION_MAX } from '../protocol/limits.ts';

type Piece = Extract<AgentFrame, { type: 'tail-output' }>;
type Listener = Parameters<Tails['open']>[3];
type Renewed = Parameters<Tails['open']>[4];

interface Open {
  readonly node: NodeId;
  readonly listener: Listener;
  readonly renewed: Renewed;
}

export interface LiveTails extends Tails {
  /** A piece came from the session of a node. */
  arrived(node: NodeId, piece: Piece): void;
  /** A node has a new session, on which nothing was asked for yet. */
  welcomed(node: NodeId): void;
  /**
   * The session of a node ended, and no newer one has said hello: each stream is to be opened anew, as the next session
   * may be at another admin.
   */
  left(node: NodeId): void;
}

/**
 * Tails over a way to send to a node's live session, which answers false when there is none. One stream an execution: a
 * newer one replaces it.
 */
export function createLiveTails(send: (node: NodeId, frame: AdminFrameBody) => boolean): LiveTails {
  const open = new Map<ExecutionId, Open>();
  const openOf = (node: NodeId): readonly Open[] => [...open.values()].filter((one) => one.node === node);
  return {
    open(node, execution, offset, listener, renewed) {
      if (openOf(node).length >= TAILS_PER_SESSION_MAX && !open.has(execution)) return null;
      if (!send(node, { type: 'tail', execution, offset })) return null;
      const mine: Open = { node, listener, renewed };
      open.set(execution, mine);
      return () => {
        if (open.get(execution) !== mine) return;
        open.delete(execution);
        send(node, { type: 'untail', execution });
      };
    },
    arrived(node, { execution, offset, text, end }) {
      const one = open.get(execution);
      if (one?.node !== node) return; // stopped while the piece was on its way, or another node's execution
      if (end) open.delete(execution);
      one.listener({ offset, text, end });
    },
    welcomed(node) {
      for (const { renewed } of openOf(node)) renewed(); // each comes back into the map
    },
    left(node) {
      const ended = openOf(node);
      for (const [execution, one] of open) if (one.node === node) open.delete(execution);
      for (const { renewed } of ended) renewed();
    },
  };
}
