/** What an agent says of its machine, as its node keeps it; and how often that is stored. */
import { isSameFacts } from '../../transport/protocol/facts.ts';
import { fullBucket, take, type BucketLimits } from '../../transport/net/token-bucket.ts';
import { step, unchanged, type Effect, type Step } from '../step.ts';
import { nodeRegistered } from './registration.ts';
import { shownFacts } from './shown-facts.ts';
import type { MessageOf } from './messages.ts';
import type { NodeState } from './state.ts';

/**
 * News of its machine that an agent may have stored at once, and how much more each second. An honest one looks once a
 * minute, and what it looks at changes a few times a year. What comes faster waits, and only the last of it is stored
 * (L1).
 */
export const FACTS_BURST_MAX = 4;
export const FACTS_PER_SECOND_MAX = 1 / 60;

const LIMITS: BucketLimits = { tokensMax: FACTS_BURST_MAX, tokensPerSecond: FACTS_PER_SECOND_MAX };

/** What a node has whose agent said nothing new. One object for all nodes. */
export const FULL_FACTS_ALLOWANCE = fullBucket(LIMITS);

/** The agent says that its machine changed. The same again is no news. */
export function factsChanged(state: NodeState, said: MessageOf<'facts-changed'>, nowMs: number): Step<NodeState> {
  const facts = shownFacts(said.facts);
  const { isTaken, bucket } = take(state.factsAllowance, LIMITS, 1, nowMs);
  // other news may wait, which this takes the place of
  if (isSameFacts(state.record.facts, facts)) return isTaken ? unchanged(state) : step(state, [], [later(said)]);
  const counted: NodeState = { ...state, factsAllowance: bucket };
  if (!isTaken) return step(counted, [], [later(said)]);
  return nodeRegistered(counted, { ...counted.record, facts }, nowMs);
}

/** In place of what waits already. */
function later(message: MessageOf<'facts-changed'>): Effect {
  return { type: 'remind', key: 'facts', afterMs: 1_000 / FACTS_PER_SECOND_MAX, message };
}
