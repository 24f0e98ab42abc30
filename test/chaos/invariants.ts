/** What must be true when everything is back, however it was killed. Names are those of docs/promises.md. */
import type { ExecutionResult } from '../../transport/protocol/execution-result.ts';
import type { Attempt } from './books.ts';

/** An execution as its row has it. */
export interface Row {
  readonly id: string;
  readonly command_id: string;
  readonly command_text: string;
  readonly node_id: string;
  readonly status: string;
  readonly exit_code: number | null;
  readonly output: string | null;
  readonly sent: boolean;
  readonly completed: boolean;
  readonly cancelled: boolean;
}

/** Everything that the checks look at. */
export interface Evidence {
  readonly attempts: readonly Attempt[];
  /** Ids of nodes that every command was for. */
  readonly nodes: readonly string[];
  readonly rows: readonly Row[];
  /** Every stored command, also one that lacks its executions. */
  readonly commands: readonly { readonly id: string; readonly command_text: string }[];
  /** Lines of the ledger: an execution's id each time that its script ran. */
  readonly runs: readonly string[];
  /** Executions of which some process lives. */
  readonly living: ReadonlySet<string>;
  readonly confirmed: ReadonlyMap<string, ExecutionResult>;
  readonly contradictions: readonly string[];
  /** What was confirmed before a restore took it back. */
  readonly takenBack: ReadonlyMap<string, ExecutionResult>;
  /** Texts of what was delivered, by execution. */
  readonly delivered: ReadonlyMap<string, string>;
  /** When each started last, as seconds since boot. */
  readonly startedS: ReadonlyMap<string, number>;
  /** Types of events by execution, in the order of their commit. */
  readonly events: ReadonlyMap<string, readonly string[]>;
}

/** Statement that reads the rows of an Evidence. */
export const ROWS = `select e.id, e.command_id, c.command_text, e.node_id, e.status, e.exit_code, e.output,
  e.sent_at is not null as sent, e.completed_at is not null as completed, e.cancelled_at is not null as cancelled
  from command_execution e join command c on c.id = e.command_id`;

/** Statement that reads the commands of an Evidence. */
export const COMMANDS = 'select id, command_text from command';

/** Statement that reads the events of executions. */
export const EVENTS = `select subject, array_agg(type order by txid, seq) as types from event where type like 'edge.command_execution.%' group by subject`;

/**
 * How long after its end an execution may start, in s: an agent notices a stall of 2 s
 * (agent/execution/starts/start-gate.ts), and takes a second to start a script on a busy machine. Who stands still
 * longer than that beyond an end starts nothing.
 */
export const LATE_S_MAX = 3;

/**
 * What an agent answers of an execution that it ran, when the database was set back and the output is not there any
 * more. Source: agent/execution/journal/journal.ts.
 */
const FROM_LEDGER = /^\[This execution ended on this machine before and was not run again\./u;

/** What was broken, one line each; empty when all held. */
export function breaches(evidence: Evidence): string[] {
  const executionRuns = countOf(evidence.runs);
  const rows = Map.groupBy(evidence.rows, markIn);
  const commands = Map.groupBy(evidence.commands, markIn);
  const attempts = new Map(evidence.attempts.map((attempt) => [attempt.mark, attempt]));
  return [
    ...evidence.contradictions.map((what) => `C5: ${what}`),
    ...evidence.attempts.flatMap((attempt) =>
      ofAttempt(attempt, rows.get(attempt.mark) ?? [], commands.get(attempt.mark) ?? [], evidence.nodes),
    ),
    ...evidence.rows.flatMap((row) => ofRow(row, attempts.get(markIn(row)), executionRuns.get(row.id) ?? 0, evidence)),
    ...strangers(executionRuns, evidence),
  ];
}

/** The mark in the script of a command, which no other one has. */
function markIn({ command_text: text }: { readonly command_text: string }): string {
  return /echo (?<mark>mark-\S+) /u.exec(text)?.groups?.['mark'] ?? '';
}

/** C1: a 2xx is a command with one execution a node; anything else is all of it or nothing. */
function ofAttempt(
  { mark, answer, id, isTakenBack, targets }: Attempt,
  rows: readonly Row[],
  stored: Evidence['commands'],
  nodes: readonly string[],
): string[] {
  const wanted = targets?.must ?? nodes;
  const mine = rows.filter(({ node_id: node }) => targets?.may.includes(node) !== true);
  const isDouble = new Set(rows.map((row) => row.node_id)).size < rows.length;
  const isRight =
    !isDouble &&
    [...wanted].toSorted().join() ===
      mine
        .map((row) => row.node_id)
        .toSorted()
        .join();
  const commands = new Set(stored.map((command) => command.id));
  const mustBeThere = answer === 'stored' && !isTakenBack;
  if (!mustBeThere && commands.size === 0 && rows.length === 0) return [];
  if (!isRight || commands.size !== 1)
    return [
      `C1: ${mark} (${answer}) has ${rows.length} executions of ${commands.size} commands for ${wanted.length} nodes`,
    ];
  return mustBeThere && !commands.has(id ?? '') ? [`C1: ${mark} is stored under another id than was answered`] : [];
}

function ofRow(row: Row, attempt: Attempt | undefined, runs: number, evidence: Evidence): string[] {
  const problems: string[] = [];
  const say = (what: string) =>
    problems.push(
      `${what} (execution ${row.id} on node ${row.node_id}, ${row.status}, exit code ${row.exit_code}, ran ${runs} times)`,
    );

  if (!['completed', 'cancelled', 'expired', 'dropped'].includes(row.status)) say('C6: it is not over');
  if (runs > 1) say('C3: it ran more than once');
  if (row.status === 'completed' && runs !== 1) say('C3: it is completed and did not run once');
  if (attempt?.endings.includes(`${row.status} ${row.exit_code}`) === false)
    say(`C7: it should have ended as ${attempt.endings.join(' or ')}`);
  if (row.status === 'completed' && !(row.sent && row.completed && !row.cancelled))
    say('C7: its moments do not fit its state');
  if (row.status === 'cancelled' && !(row.cancelled && !row.completed)) say('C7: its moments do not fit its state');
  if (evidence.living.has(row.id)) say('C9: its processes live');
  const before = evidence.takenBack.get(row.id);
  const isAnswered = before !== undefined && FROM_LEDGER.test(row.output ?? '');
  if (before !== undefined && `${before.outcome} ${before.exit_code}` !== `${row.status} ${row.exit_code}`) {
    say(
      `C3: it had been confirmed as ${before.outcome} ${before.exit_code} when the database was set back; its output is ${JSON.stringify(row.output?.slice(0, 100))}`,
    );
  }
  const startedS = evidence.startedS.get(row.id);
  if (startedS !== undefined && attempt?.overAtS != null && startedS > attempt.overAtS + LATE_S_MAX)
    say(`C8: it started ${(startedS - attempt.overAtS).toFixed(1)} s after it was over`);
  if (row.status === 'completed' && row.output !== attempt?.outputOf(row.id) && !isAnswered)
    say(`C10: its output is not what it wrote: ${JSON.stringify(row.output?.slice(0, 100))}`);

  const result = evidence.confirmed.get(row.id);
  if (
    result !== undefined &&
    !isOverBefore(row) &&
    (result.outcome !== row.status ||
      result.exit_code !== row.exit_code ||
      (result.parts === 0 && result.output !== row.output))
  )
    say(
      `C5: its row is not the result that was confirmed: ${result.outcome} ${result.exit_code} ${JSON.stringify(result.output.slice(0, 100))}, not ${JSON.stringify(row.output?.slice(0, 100))}`,
    );

  const said = (evidence.events.get(row.id) ?? []).map((type) => type.slice('edge.command_execution.'.length)).join();
  const sent = row.status === 'completed' || row.sent ? 'created,sent' : 'created';
  const expected = row.status === 'dropped' ? sent : `${sent},${row.status}`; // what goes with its node has no event
  if (said !== expected) say(`V1: its events are ${said}`);
  return problems;
}

/**
 * Whether the admin ended it without its agent: it expired, its node was deleted, or its cancel came before the word
 * that the agent has it. A result that comes later is confirmed as such, so that the agent stops sending it (C8).
 */
function isOverBefore({ status, output }: Row): boolean {
  return status === 'expired' || status === 'dropped' || (status === 'cancelled' && output === null);
}

/** C1: nothing runs that is not stored, but for what a restore took back. */
function strangers(runs: ReadonlyMap<string, number>, { rows, attempts, delivered }: Evidence): string[] {
  const known = new Set(rows.map((row) => row.id));
  const isTakenBack = (id: string): boolean =>
    attempts.some(({ mark, isTakenBack: is }) => is && delivered.get(id)?.includes(`echo ${mark} `) === true);
  return [...runs]
    .filter(([id]) => !known.has(id))
    .flatMap(([id, times]) => {
      if (!isTakenBack(id)) return [`C1: ${id} ran and is not stored`];
      return times > 1 ? [`C3: ${id} ran ${times} times, and a restore took it back`] : [];
    });
}

function countOf(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}
