/**
 * What agents and admins of a fixture said to each other: results that were confirmed, and what a restore took back of
 * it.
 */
import type { ExecutionResult } from '../../transport/protocol/execution-result.ts';
import type { Frame, Wire } from './wire.ts';
import type { Sent } from '../support/fleet/rest.ts';

/** A create that was asked for. */
export interface Attempt {
  /** In the script of this command and of no other. */
  readonly mark: string;
  /** What the admin said: stored with a 2xx, refused, or nothing (it was killed). */
  answer: 'stored' | 'refused' | 'none';
  /** It was refused as it could not be done right then (503). */
  isForNow?: boolean;
  id: string | null;
  /** How its executions may end, as state and exit code. */
  readonly endings: readonly string[];
  readonly outputOf: (execution: string) => string;
  /** Ids of nodes that each have an execution, and of those that may have one; absent: every node of the fleet has. */
  readonly targets?: { readonly must: readonly string[]; readonly may: readonly string[] };
  /** When it was last answered, or asked without an answer, as `performance.now()`. */
  answeredMs: number;
  /**
   * From then on nothing of it may start, as seconds since this machine booted: it expired, or its cancel was answered.
   * Null: no such time.
   */
  overAtS: number | null;
  /** Stored, and taken back by a restore or deleted: nothing of it need be there. */
  isTakenBack: boolean;
  /** What is sent; with an Idempotency-Key of its own, so that it can be sent again. */
  readonly request: Sent;
}

/** Books over all that went through the wires. */
export interface Books {
  /** Results that admins confirmed to agents, by execution. */
  readonly confirmed: ReadonlyMap<string, ExecutionResult>;
  /** Confirmations that contradict an earlier one. Must stay empty. */
  readonly contradictions: readonly string[];
  /**
   * What was confirmed after a dump that was restored since: the agents say it again. The first result of each, which
   * is that of its run.
   */
  readonly takenBack: ReadonlyMap<string, ExecutionResult>;
  /** Texts of what was delivered, by execution. */
  readonly delivered: ReadonlyMap<string, string>;
  /** Notes what an admin that comes later says, too. */
  watch(wire: Wire): void;
  /** The database is what it was at this `performance.now()`: what was said later is no promise any more. */
  setBack(sinceMs: number): void;
}

/** Of a value that is shown, in characters. */
const SHOWN_LENGTH_MAX = 80;

/** Notes what admins confirmed: the last result that went up before the confirmation came down. */
export function keepBooks(wires: readonly Wire[], attempts: readonly Attempt[]): Books {
  const reported = new Map<string, ExecutionResult>();
  const confirmed = new Map<string, ExecutionResult>();
  const confirmedMs = new Map<string, number>();
  const takenBack = new Map<string, ExecutionResult>();
  const delivered = new Map<string, string>();
  const contradictions: string[] = [];
  const seen = (frame: Frame) => {
    if (frame.type === 'deliver')
      for (const { execution, command_text: text } of frame.deliveries) delivered.set(execution, text);
    if (frame.type === 'result') for (const result of frame.results) reported.set(result.execution, result);
    if (frame.type !== 'confirm') return;
    for (const execution of frame.executions) {
      const result = reported.get(execution);
      const before = confirmed.get(execution);
      if (result === undefined) contradictions.push(`${execution} was confirmed and never reported`);
      else if (before !== undefined && JSON.stringify(before) !== JSON.stringify(result))
        contradictions.push(`${execution} was confirmed with two results: ${differences(before, result)}`);
      else {
        confirmed.set(execution, result);
        confirmedMs.set(execution, performance.now());
      }
    }
  };
  for (const wire of wires) wire.watch(seen);
  return {
    confirmed,
    contradictions,
    takenBack,
    delivered,
    watch: (wire) => wire.watch(seen),
    setBack(sinceMs) {
      for (const [execution, result] of confirmed) {
        if ((confirmedMs.get(execution) ?? 0) < sinceMs) continue;
        if (!takenBack.has(execution)) takenBack.set(execution, result);
        confirmed.delete(execution);
      }
      for (const attempt of attempts) if (attempt.answeredMs >= sinceMs) attempt.isTakenBack = true;
    },
  };
}

/** The fields in which two results differ, with the beginnings of both values. */
function differences(one: ExecutionResult, other: ExecutionResult): string {
  const fields = new Set([...Object.keys(one), ...Object.keys(other)]) as Set<keyof ExecutionResult>;
  const short = (value: unknown): string => (JSON.stringify(value) ?? 'none').slice(0, SHOWN_LENGTH_MAX);
  return [...fields]
    .filter((field) => JSON.stringify(one[field]) !== JSON.stringify(other[field]))
    .map((field) => `${field} ${short(one[field])}, then ${short(other[field])}`)
    .join('; ');
}
