/** What must be true when everything is back, however it was killed. Names are those of docs/promises.md. */
import type { ExecutionResult } from '../../transport/protocol/frames.ts';
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
 * (agent/execution/starts/start-gate.ts), and takes a second to start a script on a busy machine. Who stands still longer than
 * that beyond an end starts nothing.
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
  return [
    ...evidence.contradictions.map((what) => `C5: ${what}`),
    ...evidence.attempts.flatMap((attempt) => ofAttempt(attempt, evidence)),
    ...evidence.rows.flatMap((row) => ofRow(row, executionRuns.get(row.id) ?? 0, evidence)),
    ...strangers(executionRuns, evidence),
  ];
}

/** C1: a 2xx is a command with one execution a node; anything else is all of it or nothing. */
function ofAttempt(attempt: Attempt, { rows, nodes, commands: stored }: Evidence): string[] {
  const isMine = ({ command_text: text }: { readonly command_text: string }): boolean =>
    text.includes(`echo ${attempt.mark} `);
  const mine = rows.filter(isMine);
  const wanted = [...nodes].toSorted().join();
  const found = mine
    .map((row) => row.node_id)
    .toSorted()
    .join();
  const commands = new Set(stored.filter(isMine).map(({ id }) => id));
  const mustBeThere = attempt.answer === 'stored' && !attempt.isTakenBack;
  if (!mustBeThere && commands.size === 0 && mine.length === 0) return [];
  if (found !== wanted || commands.size !== 1)
    return [
      `C1: ${attempt.mark} (${attempt.answer}) has ${mine.length} executions of ${commands.size} commands for ${nodes.length} nodes`,
    ];
  return mustBeThere && !commands.has(attempt.id ?? '')
    ? [`C1: ${attempt.mark} is stored under another id than was answered`]
    : [];
}

function ofRow(row: Row, runs: number, evidence: Evidence): string[] {
  const problems: string[] = [];
  const say = (what: string) =>
    problems.push(`${what} (execution ${row.id}, ${row.status}, exit code ${row.exit_code}, ran ${runs} times)`);

  if (!['completed', 'cancelled', 'expired', 'dropped'].includes(row.status)) say('C6: it is not over');
  if (runs > 1) say('C3: it ran more than once');
  if (row.status === 'completed' && runs !== 1) say('C3: it is completed and did not run once');
  const attempt = evidence.attempts.find((one) => row.command_text.includes(`echo ${one.mark} `));
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
    (result.outcome !== row.status ||
      result.exit_code !== row.exit_code ||
      (result.parts === 0 && result.output !== row.output))
  )
    say('C5: its row is not the result that was confirmed');

  const said = (evidence.events.get(row.id) ?? []).map((type) => type.slice('edge.command_execution.'.length)).join();
  const expected = row.status === 'completed' || row.sent ? `created,sent,${row.status}` : `created,${row.status}`;
  if (said !== expected) say(`V1: its events are ${said}`);
  return problems;
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
