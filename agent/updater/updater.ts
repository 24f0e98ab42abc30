/** The updater: drives the state of an update through its steps, each stored before it is done. */
import { setTimeout as sleep } from 'node:timers/promises';
import { aliveMs } from '../../transport/net/uptime.ts';
import { noteVerified } from './boot.ts';
import { linkedName, replaceLink } from './durable.ts';
import { takeLock } from './lock.ts';
import type { UpdaterParts } from './parts.ts';
import { prepare } from './prepare.ts';
import { reasonOf, UpdateProblem } from './problem.ts';
import type { State, Switch, TakingUp, Trigger, UpdaterEffect, UpdaterEvent } from './state.ts';
import { readState, writeState } from './state-file.ts';
import { markUpdating, markIfPossible, unmarkUpdating } from './updating-marker.ts';
import { transition } from './transition.ts';
import { isVersionWhole, prune } from './versions.ts';
import { watchVersion } from './watching.ts';

/** A restart that fails on the way back is tried so often, with a pause in between, in ms. */
const RESTART_TRIES_MAX = 3;
const RESTART_PAUSE_MS = 2_000;

/** What an update that failed had fetched is kept for so long, in ms. */
export const DOWNLOADS_MS_MAX = 7 * 86_400_000;

/** Most of a log that goes into a reason, in characters; the reason itself stands before it. */
const LOG_CHARS_MAX = 3_072;

/** The state as it stands on the disk. */
export function stateOf({ layout, log }: Pick<UpdaterParts, 'layout' | 'log'>): State {
  return readState(layout.state, (problem) => log.error({}, problem));
}

/**
 * Takes up what an earlier process left, and then does what this event asks for. Resolves with the state in which it
 * ended, which is idle unless the signal came. Throws a BusyProblem while another process is at it.
 * `takingUp`: what was held up is this process's own.
 */
export function drive(
  parts: UpdaterParts,
  event: UpdaterEvent | null,
  takingUp: TakingUp = 'restarted',
): Promise<State> {
  const takeUp = () => takenUp(parts, takingUp);
  return withNothingLeft(parts, takeUp, (idle) => follow(parts, idle, event ?? takeUp()));
}

/**
 * The same for work of several steps, which nobody else's come between. `end` says what becomes of an update that was
 * left. It is not begun once the signal came.
 */
export async function withNothingLeft(
  parts: UpdaterParts,
  end: (left: State) => UpdaterEvent,
  work: (idle: State, left: State) => Promise<State>,
): Promise<State> {
  const lock = takeLock(parts.layout.lock, parts.layout.lockHolder, parts.nowMs());
  try {
    const left = stateOf(parts);
    const state = left.phase.step === 'idle' ? left : await endLeft(parts, left, end(left));
    return state.phase.step === 'idle' ? await work(state, left) : state;
  } finally {
    lock.release();
  }
}

/** That what was left goes on where it stands. */
export function takenUp({ layout }: UpdaterParts, type: TakingUp): UpdaterEvent {
  return { type, current: linkedName(layout.current) };
}

function endLeft(parts: UpdaterParts, left: State, event: UpdaterEvent): Promise<State> {
  // A disk that takes no state is found out before the agent is restarted for the same step once more.
  writeState(parts.layout.state, left);
  return follow(parts, left, event);
}

/** Does what follows from an event, step by step. For who has the lock. */
export async function follow(parts: UpdaterParts, first: State, event: UpdaterEvent): Promise<State> {
  let state = first;
  let next: UpdaterEvent | null = event;
  while (next !== null) {
    const step = transition(state, next, parts.nowMs());
    if (step.state !== state) writeState(parts.layout.state, step.state);
    state = step.state;
    parts.stepped?.(state.phase.step);
    next = parts.signal.aborted ? null : await perform(parts, state, step.effect);
    const { phase } = state;
    if (phase.step === 'preparing') state = { ...state, phase: { ...phase, wish: newestTrigger(parts, phase.wish) } };
  }
  return state;
}

/** Whoever asked last for what is prepared: it is stored while that works. */
function newestTrigger(parts: UpdaterParts, trigger: Trigger): Trigger {
  const { phase } = stateOf(parts);
  return phase.step === 'preparing' ? phase.wish : trigger;
}

async function perform(
  parts: UpdaterParts,
  { phase, ...state }: State,
  effect: UpdaterEffect,
): Promise<UpdaterEvent | null> {
  if (effect === 'tidy') return tidy(parts, { phase, ...state });
  switch (phase.step) {
    case 'idle':
      return null;
    case 'preparing':
      return prepare(parts, { phase, ...state }, () => newestTrigger(parts, phase.wish));
    case 'switching':
      return switchOver(parts, phase.change);
    case 'watching':
      return watch(parts, phase.change, phase.starts);
    case 'returning':
      return goBack(parts, phase.change);
    default:
      return phase satisfies never;
  }
}

async function switchOver(parts: UpdaterParts, change: Switch): Promise<UpdaterEvent> {
  const { layout, log, nowMs } = parts;
  const { from, to } = change;
  try {
    if (!(await isVersionWhole(layout, to.name))) throw new UpdateProblem(`the files of ${to.version} are damaged`);
    noteVerified(layout, [to.name]);
    markUpdating(parts, from.version, to.version);
    if (from.name !== to.name) {
      replaceLink(layout.previous, `versions/${from.name}`);
      replaceLink(layout.current, `versions/${to.name}`);
    }
    log.info({ from_version: from.version, to_version: to.version }, 'The agent is restarted with the new version');
    const restartedAt = nowMs();
    await parts.service.restart();
    log.info({ duration_ms: nowMs() - restartedAt }, 'The agent was restarted');
    return { type: 'switched', restartedAt };
  } catch (error) {
    const reason = reasonOf(error);
    return isUntouched(parts, change)
      ? { type: 'left', from: from.version, to: to.version, error: reason }
      : { type: 'failed', reason };
  }
}

/** Whether a switch has changed nothing yet: an agent that runs well is not restarted to go back. */
export function isUntouched({ layout }: UpdaterParts, { from, to, before }: Switch): boolean {
  return from.name !== to.name && linkedName(layout.current) === from.name && linkedName(layout.previous) === before;
}

async function watch(parts: UpdaterParts, change: Switch, starts: number): Promise<UpdaterEvent | null> {
  const restartedSeconds =
    starts > 0 ? parts.times.crashWindowMs / 1_000 : (parts.nowMs() - (change.restarted_at ?? 0)) / 1_000;
  const end = await watchVersion(parts, change, aliveMs() / 1_000 - restartedSeconds);
  if (end === null) return null;
  const { connectedSince } = end;
  if (end.verdict === 'good') {
    const awayMs =
      connectedSince === null || change.restarted_at === null
        ? null
        : Math.max(0, connectedSince - change.restarted_at);
    parts.log.info({ to_version: change.to.version, away_ms: awayMs }, 'The new version is well');
    return { type: 'committed', awayMs };
  }
  const tail = (await parts.service.logTail()).slice(-LOG_CHARS_MAX);
  return { type: 'failed', reason: tail === '' ? end.reason : `${end.reason}\nIts log ended with:\n${tail}` };
}

async function goBack(parts: UpdaterParts, change: Switch): Promise<UpdaterEvent> {
  const { layout, log } = parts;
  const { from, to, before } = change;
  log.warn({ from_version: to.version, to_version: from.version }, 'The new version is taken back');
  markIfPossible(parts, to.version, from.version);
  const isWhole = await isVersionWhole(layout, from.name);
  if (isWhole) {
    noteVerified(layout, [from.name]);
    replaceLink(layout.current, `versions/${from.name}`);
    if (before !== null && before !== to.name) replaceLink(layout.previous, `versions/${before}`);
  }
  let problem = isWhole ? null : `${from.version} is damaged, so ${to.version} stays`;
  for (let tries = 1; tries <= RESTART_TRIES_MAX; tries += 1) {
    try {
      await parts.service.restart();
      break;
    } catch (error) {
      if (tries === RESTART_TRIES_MAX) problem = [problem, reasonOf(error)].filter((part) => part !== null).join('; ');
      else await sleep(RESTART_PAUSE_MS);
    }
  }
  return { type: 'returned', problem };
}

/** Nothing is under way: what is no longer needed goes. */
function tidy(parts: UpdaterParts, state: State): null {
  const { layout, log, nowMs } = parts;
  unmarkUpdating(parts);
  const kept = [linkedName(layout.current), linkedName(layout.previous)].filter((name) => name !== null);
  const downloadsSinceMs = state.outcome?.error == null ? Number.POSITIVE_INFINITY : nowMs() - DOWNLOADS_MS_MAX;
  const removed = prune(layout, { names: new Set(kept), version: state.pinned, downloadsSinceMs });
  if (removed.length > 0) log.info({ versions: removed.join(', ') }, 'Versions were removed that nothing needs');
  return null;
}
