/** The steps of an update, as a pure function: what was interrupted is taken up where its state says. */
import { UPDATE_ERROR_CHARS_MAX } from '../../transport/protocol/limits.ts';
import {
  triggerOf,
  type OnDisk,
  type Outcome,
  type State,
  type Switch,
  type TakingUp,
  type UpdaterEvent,
  type UpdaterStep,
  type Trigger,
} from './state.ts';

/** An update that a killed updater or machine interrupted is begun again so often, and then given up. */
export const STARTS_MAX = 3;

/**
 * What one event makes of the state, `nowMs` in Unix ms. An event that does not fit the state changes nothing: a step
 * may be done twice after a crash, and its news may come twice.
 */
export function transition(state: State, event: UpdaterEvent, nowMs: number): UpdaterStep {
  switch (event.type) {
    case 'asked':
      return asked(state, event.trigger);
    case 'restarted':
    case 'held-up':
      return takenUp(state, event, nowMs);
    case 'left':
      return left(state, event, nowMs);
    case 'prepared':
      return prepared(state, event);
    case 'switched':
      return state.phase.step === 'switching'
        ? {
            state: {
              ...state,
              phase: {
                step: 'watching',
                change: { ...state.phase.change, restarted_at: event.restartedAt },
                starts: 0,
              },
            },
            effect: 'watch',
          }
        : unchanged(state);
    case 'committed':
      return committed(state, event.awayMs, nowMs);
    case 'failed':
      return failed(state, event.reason);
    case 'returned':
      return returned(state, event.problem, nowMs);
    case 'pin':
      return { state: { ...state, pinned: event.version }, effect: null };
    default:
      return unreachable(event);
  }
}

/** While nothing is changed yet, an update is for whoever asked last. It keeps its beginning. */
function asked(state: State, trigger: Trigger): UpdaterStep {
  const { phase } = state;
  if (phase.step === 'idle')
    return { state: { ...state, phase: { step: 'preparing', wish: trigger, starts: 0 } }, effect: 'prepare' };
  if (phase.step !== 'preparing') return unchanged(state);
  const instead = { ...trigger, force: trigger.force || phase.wish.force, asked_at: phase.wish.asked_at };
  return { state: { ...state, phase: { ...phase, wish: instead } }, effect: null };
}

function takenUp(state: State, event: Extract<UpdaterEvent, { type: TakingUp }>, nowMs: number): UpdaterStep {
  const { phase } = state;
  const more = event.type === 'restarted' ? 1 : 0;
  switch (phase.step) {
    case 'idle':
      return { state, effect: 'tidy' };
    case 'preparing': {
      const starts = phase.starts + more;
      if (starts < STARTS_MAX) return { state: { ...state, phase: { ...phase, starts } }, effect: 'prepare' };
      const error = `the updater was interrupted ${STARTS_MAX} times while it fetched the release`;
      return ended(state, { ...named(phase.wish, '', ''), outcome: 'unchanged', error, away_ms: null }, nowMs);
    }
    case 'switching':
      return { state, effect: 'switch' };
    case 'watching': {
      const starts = phase.starts + more;
      // The launcher goes back by itself from a version that is not whole, as after a power cut.
      if (event.current !== phase.change.to.name)
        return goingBack(state, phase.change, `its files were damaged when this machine started`);
      if (starts < STARTS_MAX) return { state: { ...state, phase: { ...phase, starts } }, effect: 'watch' };
      const reason = `this machine or its updater was restarted ${STARTS_MAX} times before the new version was well`;
      return goingBack(state, phase.change, reason);
    }
    case 'returning':
      return { state, effect: 'return' };
    default:
      return unreachable(phase);
  }
}

function left(state: State, event: Extract<UpdaterEvent, { type: 'left' }>, nowMs: number): UpdaterStep {
  const { phase } = state;
  if (phase.step !== 'preparing' && phase.step !== 'switching') return unchanged(state);
  const { from, to, error } = event;
  const outcome = {
    ...named(triggerOf(phase), from, to),
    outcome: 'unchanged',
    error: cut(error),
    away_ms: null,
  } as const;
  return ended(state, outcome, nowMs);
}

function prepared(state: State, event: Extract<UpdaterEvent, { type: 'prepared' }>): UpdaterStep {
  const { phase } = state;
  if (phase.step !== 'idle' && phase.step !== 'preparing') return unchanged(state);
  const trigger = phase.step === 'idle' ? event.change.wish : phase.wish;
  const change: Switch = { ...event.change, wish: trigger, restarted_at: null };
  return { state: { ...state, phase: { step: 'switching', change } }, effect: 'switch' };
}

function committed(state: State, awayMs: number | null, nowMs: number): UpdaterStep {
  if (state.phase.step !== 'watching') return unchanged(state);
  const { wish: trigger, from, to } = state.phase.change;
  const outcome = {
    ...named(trigger, from.version, to.version),
    outcome: 'updated',
    error: null,
    away_ms: awayMs,
  } as const;
  // What was gone back from is older news now, unless somebody went back to it by hand.
  const refused = state.refused?.name === to.name ? null : state.refused;
  return ended({ ...state, refused }, outcome, nowMs);
}

function failed(state: State, reason: string): UpdaterStep {
  const { phase } = state;
  return phase.step === 'switching' || phase.step === 'watching'
    ? goingBack(state, phase.change, reason)
    : unchanged(state);
}

function goingBack(state: State, change: Switch, reason: string): UpdaterStep {
  return { state: { ...state, phase: { step: 'returning', change, reason: cut(reason) ?? '' } }, effect: 'return' };
}

function returned(state: State, problem: string | null, nowMs: number): UpdaterStep {
  if (state.phase.step !== 'returning') return unchanged(state);
  const { change } = state.phase;
  const reason = cut(problem === null ? state.phase.reason : `${problem}; ${state.phase.reason}`);
  const { wish: trigger, from, to } = change;
  const refused = { ...to, reason, at: nowMs };
  const outcome = {
    ...named(trigger, from.version, to.version),
    outcome: 'rolled_back',
    error: reason,
    away_ms: null,
  } as const;
  return ended({ ...state, refused }, outcome, nowMs);
}

/** Marks a version as one that is not to be tried again by itself. */
export function refusing(state: State, version: OnDisk, reason: string, nowMs: number): State {
  return { ...state, refused: { ...version, reason: cut(reason) ?? '', at: nowMs } };
}

function ended(state: State, outcome: Omit<Outcome, 'finished_at'>, nowMs: number): UpdaterStep {
  return { state: { ...state, phase: { step: 'idle' }, outcome: { ...outcome, finished_at: nowMs } }, effect: 'tidy' };
}

function named(trigger: Trigger, from: string, to: string): Pick<Outcome, 'request' | 'from' | 'to'> {
  return { request: trigger.request, from, to };
}

function cut<T extends string | null>(text: T): T {
  return (text === null ? text : text.slice(0, UPDATE_ERROR_CHARS_MAX)) as T;
}

function unchanged(state: State): UpdaterStep {
  return { state, effect: null };
}

function unreachable(value: never): never {
  throw new Error(`not known: ${JSON.stringify(value)}`);
}
