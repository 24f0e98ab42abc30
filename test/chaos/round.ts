/** One round of chaos: something is killed, everything comes back, and what must hold is looked at. */
import type { Attempt } from './books.ts';
import { valuesInProcesses } from '../support/fleet/agent-program.ts';
import { breaches, COMMANDS, EVENTS, ROWS, type Evidence, type Row } from './invariants.ts';
import type { KillPoint } from './kill-points.ts';
import type { Fixture } from './fixture.ts';

/** How a round went. */
export interface Outcome {
  readonly name: string;
  readonly kills: number;
  readonly ms: number;
  /** How many executions ended in each state. */
  readonly states: Readonly<Record<string, number>>;
  /** What was broken; empty when all held. */
  readonly breaches: readonly string[];
}

/**
 * Plays a point in a fixture that is whole, and leaves it whole. `alsoBroken` is asked once executions are over. Never
 * rejects: what went wrong is a breach.
 */
export async function playRound(
  fixture: Fixture,
  point: KillPoint,
  alsoBroken: () => Promise<readonly string[]> = async () => Promise.resolve([]),
): Promise<Outcome> {
  const startedMs = performance.now();
  const before = {
    kills: fixture.kills,
    attempts: fixture.attempts.length,
    runs: fixture.runs().length,
    at: new Date(),
  };
  let evidence: Evidence | null = null;
  const problems: string[] = [];
  try {
    await point.strike(fixture);
    await fixture.recover();
    evidence = await gather(fixture, before);
    problems.push(...breaches(evidence), ...(await alsoBroken()));
  } catch (error) {
    problems.push(`the round broke off: ${reasonOf(error)}`, ...(await stuck(fixture)));
  }
  const states: Record<string, number> = {};
  for (const { status } of evidence?.rows ?? []) states[status] = (states[status] ?? 0) + 1;
  return {
    name: point.name,
    kills: fixture.kills - before.kills,
    ms: Math.round(performance.now() - startedMs),
    states,
    breaches: problems,
  };
}

/** Everything since the fixture began, for a last look at all of it. */
export async function wholeStory(fixture: Fixture): Promise<readonly string[]> {
  return breaches(await gather(fixture, { attempts: 0, runs: 0, at: new Date(0) }));
}

async function gather(
  fixture: Fixture,
  since: { readonly attempts: number; readonly runs: number; readonly at: Date },
): Promise<Evidence> {
  return evidenceOf(fixture, fixture.attempts.slice(since.attempts), since);
}

/** What was said, stored and run of these commands since a moment. */
export async function evidenceOf(
  fixture: Fixture,
  attempts: readonly Attempt[],
  since: { readonly runs: number; readonly at: Date } = { runs: 0, at: new Date(0) },
): Promise<Evidence> {
  const { fleet } = fixture;
  const rows = await fleet.sql<Row>(`${ROWS} where e.inserted_at >= $1`, [since.at]);
  const events = await fleet.sql<{ subject: string; types: string[] }>(EVENTS);
  return {
    attempts,
    nodes: fleet.agents.map(({ node }) => node),
    rows,
    commands: await fleet.sql<Evidence['commands'][number]>(`${COMMANDS} where inserted_at >= $1`, [since.at]),
    runs: fixture.runs().slice(since.runs),
    living: valuesInProcesses('EDGE_EXECUTION_ID'),
    confirmed: fixture.books.confirmed,
    contradictions: fixture.books.contradictions,
    takenBack: fixture.books.takenBack,
    delivered: fixture.books.delivered,
    startedS: fixture.startedS(),
    events: new Map(events.map(({ subject, types }) => [subject, types])),
  };
}

/** What did not end, for whoever looks for the reason. */
export async function stuck(fixture: Fixture): Promise<readonly string[]> {
  try {
    const rows = await fixture.fleet.sql<{ id: string; status: string; node_id: string; command_text: string }>(
      'select e.id, e.status, e.node_id, c.command_text from command_execution e join command c on c.id = e.command_id where e.finished_at is null limit 10',
    );
    const programs = [...fixture.fleet.admins, ...fixture.fleet.agents].map(
      ({ program }) =>
        `log of process ${program.pid} (${JSON.stringify(program.exit)}):\n${program.output.slice(-2_000)}`,
    );
    return [
      ...rows.map((row) => `still open: ${row.id} ${row.status} on ${row.node_id}: ${row.command_text.slice(0, 80)}`),
      ...(rows.length > 0 ? programs : []),
    ];
  } catch (error) {
    return [`the database does not tell: ${reasonOf(error)}`];
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return `${error.message}${error.cause === undefined ? '' : `: ${reasonOf(error.cause)}`}`;
}
