/**
 * What an agent may name that is not here: each such execution is looked up in the rows. Counted by node, over all of
 * its sessions (L1).
 */
import { CLOSE } from '../../transport/protocol/close-codes.ts';
import { fullBucket, spend, type BucketLimits } from '../../transport/net/token-bucket.ts';
import type { Effect, Step } from '../step.ts';
import { step } from '../step.ts';
import type { NodeState } from './state.ts';

/**
 * Executions that an agent may name at once without this actor holding them, and how many more each second. An honest
 * one names at most the 1,024 that it holds (EXECUTIONS_PER_FRAME_MAX) with its hello, and again with their results:
 * twice that fits two connections in a row.
 */
export const LOOKED_UP_BURST_MAX = 4_096;
export const LOOKED_UP_PER_SECOND_MAX = 64;

/** What a question about SSH logins counts for at least: it is a statement of its own. */
export const GRANTS_CHECK_COST_MIN = 32;

/** A token is an execution that may still be named. */
const LIMITS: BucketLimits = { tokensMax: LOOKED_UP_BURST_MAX, tokensPerSecond: LOOKED_UP_PER_SECOND_MAX };

/** What a node has that named none. One object for all nodes. */
export const FULL_LOOK_UPS = fullBucket(LIMITS);

/**
 * The step, if what it wants to look up for the agent is within the allowance of its node. Else the session is hung up
 * in place of that.
 */
export function withinLookUps(decided: Step<NodeState>, nowMs: number): Step<NodeState> {
  const cost = decided.effects.reduce((sum, effect) => sum + costOf(effect), 0);
  if (cost === 0) return decided;
  const { lookUps, session } = decided.state;
  const { tokens, atMs } = spend(lookUps, LIMITS, cost, nowMs);
  // what was too much uses up the rest, and is not owed: the session is over
  const state: NodeState = { ...decided.state, lookUps: { tokens: Math.max(0, tokens), atMs } };
  if (tokens >= 0) return step(state, decided.changes, decided.effects);
  const others = decided.effects.filter((effect) => costOf(effect) === 0);
  const hangUp: readonly Effect[] =
    session === null
      ? []
      : [
          {
            type: 'hang-up',
            session: session.id,
            code: CLOSE.policy,
            reason: 'it names more executions or SSH logins that are not known here than it can have',
          },
        ];
  return step(state, decided.changes, [...others, ...hangUp]);
}

/** What somebody asked for who is no agent counts for nothing. */
function costOf(effect: Effect): number {
  if (effect.type === 'check-ssh-grants') return Math.max(GRANTS_CHECK_COST_MIN, effect.grants.length);
  return effect.type === 'look-up' && 'session' in effect.retry ? effect.executions.length : 0;
}
