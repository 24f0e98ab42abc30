/**
 * The resident updater: answers the agent, looks after it from time to time, and makes room for its own next version.
 */
import { realpathSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { linkedName } from './durable.ts';
import { restartDead } from './dead-agent.ts';
import type { UpdaterParts } from './parts.ts';
import { decide, findOffer, look } from './prepare.ts';
import { reasonOf } from './problem.ts';
import { AgentSilence } from './repair.ts';
import { RunningUpdates } from './running-updates.ts';
import { startUpdaterServer } from './server.ts';
import type { Trigger } from './state.ts';
import { SignOfLife } from './sign-of-life.ts';
import { tokenAt } from './token.ts';
import { stateOf } from './updater.ts';

/** How often it looks whether another version of itself is current by now, in ms. */
const OWN_VERSION_MS = 2_000;

/** An updater that runs for so long has come up, in ms: the launcher then no longer counts its starts. */
const UP_MS = 10_000;

/** Set by the launcher where this updater stands in for a newer one that did not come up. */
const INSTEAD_VARIABLE = 'EDGE_UPDATER_INSTEAD';

/** Checks are spread by this share of their interval, so that machines that started together do not ask together. */
const JITTER = 0.2;

/** Serves until the signal, or until another version of the updater is to run. Rejects with an UpdateProblem. */
export async function serveUpdater(parts: UpdaterParts, program: string): Promise<void> {
  const { config, layout, log, signal } = parts;
  const began = linkedName(layout.current);
  const { promise: replaced, resolve: replace } = Promise.withResolvers<void>();
  const isOurs = isBelow(program, layout.versions);
  const silence = new AgentSilence(parts, performance.now());
  const updates = new RunningUpdates({ ...parts, silence }, () => {
    if (isOurs && linkedName(layout.current) !== began) replace();
  });
  const server = await startUpdaterServer(config.UPDATER_LISTEN, tokenAt(layout.token, config.UPDATER_TOKEN), {
    update: (asked) => updates.update(asked),
    outcome: () => updates.outcome(),
    check: () => wouldBe(parts),
    failed: (error) => log.error({ error: reasonOf(error) }, 'A question could not be answered'),
  });
  log.info({ port: (server.address() as AddressInfo).port, version: began }, 'The updater is ready');
  let isUp = false;
  const life = new SignOfLife(layout.updaterAlive);
  const showLife = () => life.give(isUp && !updates.isRunning);
  showLife();
  const forgetStarts = (): void => {
    try {
      rmSync(layout.updaterStarts, { force: true });
    } catch (error) {
      log.warn({ error: reasonOf(error) }, 'The count of starts could not be removed');
    }
  };
  const up = setTimeout(() => {
    isUp = true;
    showLife(); // before the file goes: the launcher looks for either
    if (process.env[INSTEAD_VARIABLE] === undefined) forgetStarts();
  }, UP_MS);
  updates.resume();
  void lookAfter(parts, updates, silence).catch((error: unknown) =>
    log.error({ error }, 'The updater no longer looks after the agent'),
  );
  const look = setInterval(() => {
    showLife();
    // by a command of somebody's
    if (isOurs && !updates.isRunning && linkedName(layout.current) !== began && !updates.isLeft) replace();
  }, OWN_VERSION_MS);
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([stopped, replaced]);
  if (!signal.aborted) log.info({}, 'Another version of the updater is current: this one ends, to be started anew');
  clearInterval(look);
  clearTimeout(up);
  await closed(server);
}

/**
 * What an update would do now, for GET /v1/check and `edge-updater update --dry-run`. It may be asked while one runs,
 * and changes nothing.
 */
export async function wouldBe(parts: UpdaterParts): Promise<object> {
  const state = stateOf(parts);
  const trigger: Trigger = { by: 'hand', request: null, force: false, asked_at: parts.nowMs() };
  const { release } = await findOffer(parts, state.pinned, look(parts), 'look');
  const { current, to, left } = await decide(parts, state, trigger, release);
  return {
    current: current?.version ?? null,
    available: to.version,
    released_at: release.released_at,
    would: left === null ? 'update' : 'nothing',
    reason: left?.reason ?? null,
  };
}

/** From one look after the agent to the next, in ms. `random`: from 0 to 1. */
export function checkAfterMs(everyMs: number, random: number): number {
  return everyMs * (1 - JITTER + 2 * JITTER * random);
}

async function lookAfter(parts: UpdaterParts, updates: RunningUpdates, silence: AgentSilence): Promise<void> {
  const { config, log, signal } = parts;
  while (!signal.aborted) {
    const waitMs = checkAfterMs(config.UPDATER_CHECK_EVERY, Math.random());
    await sleep(waitMs, undefined, { signal }).catch(() => {});
    if (signal.aborted || updates.isRunning) continue; // which looks after the agent itself while it waits
    if (updates.isLeft) {
      updates.resume();
      continue;
    }
    const isDead = await silence.isDead(performance.now());
    if (isDead)
      log.warn({}, 'The agent has said nothing for a long time: it is repaired or updated where that can be done');
    if (!isDead && (!config.UPDATER_AUTOMATIC || (await parts.service.isStopped()))) continue;
    const outcome = await updates.trigger({ by: 'timer', request: null, force: false })?.finished;
    if (!isDead || outcome?.outcome !== 'unchanged') continue;
    // Nothing is damaged, and nothing newer there: what is left is a process that hangs, or that nobody starts.
    await restartDead(parts, silence);
    silence.reset(performance.now());
  }
}

function isBelow(program: string, directory: string): boolean {
  try {
    return dirname(realpathSync(program)).startsWith(`${realpathSync(directory)}${sep}`);
  } catch {
    return false;
  }
}

/** Answers that are under way go out; nobody is waited for longer than a moment. */
async function closed(server: Server): Promise<void> {
  const end = setTimeout(() => server.closeAllConnections(), 1_000);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
  clearTimeout(end);
}
