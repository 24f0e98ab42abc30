/** What must be true when everything is back, however it was killed. Names are those of the invariants. */
import type { ExecutionResult } from '../transport/protocol/frames.ts';
import type { Attempt } from './world.ts';

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

/** What was broken, one line each; empty when all held. */
export function breaches(evidence: Evidence): string[] {
  const executionRuns = countOf(evidence.runs);
  return [
    ...evidence.contradictions.map((what) => `C5: ${what}`),
    ...evidence.attempts.flatMap((attempt) => ofAttempt(attempt, evidence)),
    ...evidence.rows.flatMap((row) => ofRow(row, executionRuns.get(row.id) ?? 0, evidence)),
    ...strangers(executionRuns, evidence.rows),
  ];
}

/** C1: a 2xx is a command with one execution a node; anything else is all of it or nothing. */
function ofAttempt(attempt: Attempt, { rows, nodes, commands: stored }: Evidence): string[] {
  const isMine = ({ command_text: text }: { readonly command_text: string }): boolean => text.includes(`echo ${attempt.mark} `);
  const mine = rows.filter(isMine);
  const wanted = [...nodes].toSorted().join();
  const found = mine.map((row) => row.node_id).toSorted().join();
  const commands = new Set(stored.filter(isMine).map(({ id }) => id));
  if (attempt.answer !== 'stored' && commands.size === 0 && mine.length === 0) return [];
  if (found !== wanted || commands.size !== 1) return [`C1: ${attempt.mark} (${attempt.answer}) has ${mine.length} executions of ${commands.size} commands for ${nodes.length} nodes`];
  return attempt.answer === 'stored' && !commands.has(attempt.id ?? '') ? [`C1: ${attempt.mark} is stored under another id than was answered`] : [];
}

function ofRow(row: Row, runs: number, evidence: Evidence): string[] {
  const problems: string[] = [];
  const say = (what: string) => problems.push(`${what} (execution ${row.id}, ${row.status}, exit code ${row.exit_code}, ran ${runs} times)`);

  if (!['completed', 'cancelled', 'expired', 'dropped'].includes(row.status)) say('C6: it is not over');
  if (runs > 1) say('C3: it ran more than once');
  if (row.status === 'completed' && runs !== 1) say('C3: it is completed and did not run once');
  const attempt = evidence.attempts.find((one) => row.command_text.includes(`echo ${one.mark} `));
  if (attempt?.endings.includes(`${row.status} ${row.exit_code}`) === false) say(`C7: it should have ended as ${attempt.endings.join(' or ')}`);
  if (row.status === 'completed' && !(row.sent && row.completed && !row.cancelled)) say('C7: its moments do not fit its state');
  if (row.status === 'cancelled' && !(row.cancelled && !row.completed)) say('C7: its moments do not fit its state');
  if (evidence.living.has(row.id)) say('C9: its processes live');
  if (row.status === 'completed' && row.output !== attempt?.outputOf(row.id)) say(`C10: its output is not what it wrote: ${JSON.stringify(row.output?.slice(0, 100))}`);

  const result = evidence.confirmed.get(row.id);
  if (result !== undefined && (result.outcome !== row.status || result.exit_code !== row.exit_code || (result.parts === 0 && result.output !== row.output))) say('C5: its row is not the result that was confirmed');

  const said = (evidence.events.get(row.id) ?? []).map((type) => type.slice('edge.command_execution.'.length)).join();
  const expected = row.status === 'completed' || row.sent ? `created,sent,${row.status}` : `created,${row.status}`;
  if (said !== expected) say(`V1: its events are ${said}`);
  return problems;
}

/** C3: nothing runs that is not stored. */
function strangers(runs: ReadonlyMap<string, number>, rows: readonly Row[]): string[] {
  const known = new Set(rows.map((row) => row.id));
  return [...runs.keys()].filter((id) => !known.has(id)).map((id) => `C1: ${id} ran and is not stored`);
}

function countOf(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}
