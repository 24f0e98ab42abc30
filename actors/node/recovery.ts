/** What a node asks for again after a boot or a crash, and what of its live state outlives rows that are read anew. */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { Effect } from '../step.ts';
import { cancelRecoveryEffects } from './executions.ts';
import { silenceRecoveryEffects } from './reachability.ts';
import { grantRecoveryEffects } from './ssh-logins.ts';
import { dampingRecoveryEffects } from './status.ts';
import { youngest, type NodeState } from './state.ts';

/**
 * After boot or a crash there is no session: the agent comes back by itself. Cancels that were asked for are asked for
 * again.
 */
export function recoveryEffects(
  state: NodeState,
  settings: { readonly unreachableAfterMs: number; readonly dampingMs: number },
  nowMs: number,
): readonly Effect[] {
  const effects: Effect[] = [...cancelRecoveryEffects(state, [...state.open.keys()]), ...grantRecoveryEffects(state)];
  const pendingCancels = [...state.open.values()].filter(
    (execution) => execution.status === 'pending' && execution.cancelRequestedAtMs !== null,
  );
  if (pendingCancels.length > 0) {
    effects.push({
      type: 'tell',
      told: {
        to: { kind: 'node', id: state.record.id },
        message: { type: 'cancel', executions: pendingCancels.map((execution) => execution.id), replyTo: null },
      },
    });
  }
  if (state.updates.due.length > 0)
    effects.push({
      type: 'tell',
      told: { to: { kind: 'node', id: state.record.id }, message: { type: 'update', due: [] } },
    });
  // Silence counts from now, not from what was last stored.
  effects.push(
    ...silenceRecoveryEffects(state, settings.unreachableAfterMs, nowMs),
    ...dampingRecoveryEffects(state, settings.dampingMs, nowMs),
  );
  return effects;
}

/** Rows know the executions, the live state knows the session, what it may still cost, and what is being read. */
export function refreshed(live: NodeState, rows: NodeState): NodeState {
  const loading = live.loading === false ? false : 'more';
  return {
    ...rows,
    session: live.session,
    sshAllowance: live.sshAllowance,
    lookUps: live.lookUps,
    vpnAllowances: live.vpnAllowances,
    factsAllowance: live.factsAllowance,
    loading,
    reads: live.reads,
    newestRead: youngest(live.newestRead, rows.newestRead === null ? [] : [rows.newestRead]),
    over: live.reads === 0 ? live.over : new Set([...live.over, ...endedSince(live, rows)]),
  };
}

/**
 * What was open and is not any more. Behind a backlog the rows hold the oldest ones only: of what is younger nothing is
 * known.
 */
function endedSince(live: NodeState, rows: NodeState): readonly ExecutionId[] {
  const youngest = rows.backlog ? [...rows.open.keys()].at(-1) : undefined;
  return [...live.open.keys()].filter((id) => !rows.open.has(id) && (youngest === undefined || id < youngest));
}
