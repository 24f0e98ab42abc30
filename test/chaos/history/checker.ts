/**
 * Judges a history: whether several admins behaved as one. Pure. A line of each violation names the promise that is
 * broken, and of what clients were told no more than is needed to see it.
 */
import type { History } from './history.ts';
import type { Rows } from './rows.ts';
import {
  answers,
  counts,
  deliveries,
  events,
  executions,
  owners,
  revocations,
  tailedOutputs,
  watchedCommands,
  watchedNodes,
  type Deadlines,
  type Rule,
} from './rules.ts';
import { cancels, served, shares } from './service.ts';
import { thingsIn, type Thing } from './things.ts';
import { told } from './words.ts';

const RULES: readonly Rule[] = [
  answers,
  counts,
  deliveries,
  executions,
  revocations,
  owners,
  events,
  watchedCommands,
  watchedNodes,
  tailedOutputs,
  served,
  cancels,
  shares,
];

/** What was broken, one line each; empty when all held. */
export function violations(history: History, rows: Rows, deadlines: Deadlines): string[] {
  return [
    ...thingsIn(history.calls, rows).flatMap(contradictions),
    ...RULES.flatMap((rule) => rule(history, rows, deadlines)),
  ];
}

function contradictions(thing: Thing): string[] {
  const found = thing.contradiction();
  if (found === null) return [];
  const others = found.others.length === 0 ? 'nothing that was answered' : found.others.map(told).join('; and ');
  const doubtful = thing.calls.filter(
    ({ outcome, invokedMs }) => outcome.type === 'doubt' && invokedMs <= found.last.answeredMs,
  );
  const doubts = doubtful.length === 0 ? '' : `; in doubt ${doubtful.map(told).join('; and ')}`;
  return [`O3: ${thing.what}: ${told(found.last)}; against ${others}${doubts}`];
}
