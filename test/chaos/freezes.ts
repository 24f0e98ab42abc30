/** Agents stand still while what they have, and what comes to them, ends at the admin (C8). */
import { setTimeout as delay } from 'node:timers/promises';
import type { AgentProgram } from '../support/fleet/agent-program.ts';
import { until } from '../support/until.ts';
import { SESSION_SILENCE_MS_MAX } from '../../transport/protocol/limits.ts';
import { LATE_S_MAX } from './invariants.ts';
import { accepted, begun, killAgents, sent, type KillPoint } from './kill-points.ts';
import type { Fixture } from './fixture.ts';

/** Until what is created for an agent that stands still expires, in ms. */
const EXPIRES_MS = 1_500;

/** The same for what the agent has to take first, on a busy machine. */
const EXPIRES_LATER_MS = 4_000;

/** Shortest stall after which a start is told from one that was in time, in ms. */
export const STALL_MS_MIN = EXPIRES_LATER_MS + LATE_S_MAX * 1_000 + 500;

/** Beyond the silence after which an admin ends a session, in ms. */
const SILENCE_MS = SESSION_SILENCE_MS_MAX + 5_000;

/** Settings of agents of which each runs one execution at a time: the others wait in its journal. */
export const FREEZE_ENV = { COMMAND_EXECUTION_CONCURRENCY: '1' } as const;

/** Every way in which agents may stand still, for a while and beyond the silence of their sessions. */
export const FREEZES: readonly KillPoint[] = [...freezes(STALL_MS_MIN), ...freezes(SILENCE_MS)];

/** Every way in which agents may stand still for so long, in ms. */
export function freezes(stallMs: number): readonly KillPoint[] {
  const span = `${Math.round(stallMs / 1_000)} s`;
  return [
    {
      name: `freeze: agents stand still for ${span} while what comes to them ends`,
      strike: (fixture) => whatCameEnds(fixture, stallMs),
    },
    {
      name: `freeze: agents stand still for ${span} while what waits in their journals ends`,
      strike: (fixture) => whatWaitsEnds(fixture, stallMs, wake),
    },
    {
      name: `freeze: agents stand still for ${span} while what waits in their journals ends, and are killed`,
      strike: (fixture) => whatWaitsEnds(fixture, stallMs, startAnew),
    },
  ];
}

/** It lies in the buffers of their connections when they wake. One agent is awake, and has no part in it. */
async function whatCameEnds(fixture: Fixture, stallMs: number): Promise<void> {
  const [awake, ...agents] = fixture.fleet.agents;
  const wakes = freeze(fixture, agents);
  try {
    const [, , cancelled] = await Promise.all([
      accepted(fixture, 'quick'),
      accepted(fixture, 'quick', { expiresMs: EXPIRES_MS }),
      accepted(fixture, 'quick', { isForCancel: true }),
    ]);
    const open = 'select from command_execution where node_id = $1 and finished_at is null';
    await until(
      'what the agent that is awake ran',
      async () => (await fixture.fleet.sql(open, [awake?.node])).length === 0,
    );
    await fixture.cancel(cancelled);
    await delay(stallMs);
  } finally {
    wakes();
  }
}

/**
 * Each runs a script that waits at its gate, and has more in its journal, of which some expires and some is cancelled.
 * The gate opens while they stand still.
 */
async function whatWaitsEnds(
  fixture: Fixture,
  stallMs: number,
  wakeUp: (fixture: Fixture, wakes: () => void) => Promise<void>,
): Promise<void> {
  const { agents } = fixture.fleet;
  const gated = await begun(fixture, 'gated', agents.length);
  const [open, expiring, cancelled] = await Promise.all([
    accepted(fixture, 'quick'),
    accepted(fixture, 'quick', { expiresMs: EXPIRES_LATER_MS }),
    accepted(fixture, 'quick', { isForCancel: true }),
  ]);
  await sent(fixture, open, expiring, cancelled);
  const wakes = freeze(fixture, agents);
  try {
    await fixture.cancel(cancelled);
    fixture.openGate(gated);
    await delay(stallMs);
  } finally {
    await wakeUp(fixture, wakes);
  }
}

async function wake(_: Fixture, wakes: () => void): Promise<void> {
  return Promise.resolve(wakes());
}

/** As after a reboot, with what was in their journals. */
async function startAnew(fixture: Fixture): Promise<void> {
  await killAgents(fixture);
  for (const agent of fixture.fleet.agents) agent.start();
}

/** Freezes agents; the returned function wakes them. */
function freeze(fixture: Fixture, agents: readonly AgentProgram[]): () => void {
  for (const { program } of agents) program.pause();
  fixture.freezes += agents.length;
  return () => {
    for (const { program } of agents) program.resume();
  };
}
