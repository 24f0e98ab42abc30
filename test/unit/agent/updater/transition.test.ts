import test from 'ava';
import {
  FIRST_STATE,
  type State,
  type Switch,
  type UpdaterEvent,
  type Trigger,
} from '../../../../agent/updater/state.ts';
import { STARTS_MAX, transition } from '../../../../agent/updater/transition.ts';

const TRIGGER: Trigger = { by: 'request', request: 'one', force: false, asked_at: 1 };
const [FROM, TO] = [
  { name: '0.1.0-aaaaaaaa', version: '0.1.0' },
  { name: '0.2.0-bbbbbbbb', version: '0.2.0' },
];
const CHANGE: Switch = { wish: TRIGGER, from: FROM, to: TO, before: null, problems: [], restarted_at: null };
const NAMES = { request: 'one', from: '0.1.0', to: '0.2.0' };

/** The state after these events, and the effect of the last one. */
function after(...events: readonly UpdaterEvent[]) {
  let [state, effect]: [State, unknown] = [FIRST_STATE, null];
  for (const event of events) ({ state, effect } = transition(state, event, 100));
  return { phase: state.phase, outcome: state.outcome, refused: state.refused, effect };
}

const asked: UpdaterEvent = { type: 'asked', trigger: TRIGGER };
const prepared: UpdaterEvent = { type: 'prepared', change: CHANGE };
const switched: UpdaterEvent = { type: 'switched', restartedAt: 50 };
const failed: UpdaterEvent = { type: 'failed', reason: 'it crashes' };
const restarted = (current = TO.name): UpdaterEvent => ({ type: 'restarted', current });

test('an update that goes well ends as updated', (t) => {
  t.deepEqual(after(asked, prepared, switched, { type: 'committed', awayMs: 7 }), {
    phase: { step: 'idle' },
    outcome: { ...NAMES, outcome: 'updated', error: null, finished_at: 100, away_ms: 7 },
    refused: null,
    effect: 'tidy',
  });
});

test('a version that is not well is taken back, and remembered', (t) => {
  t.deepEqual(after(asked, prepared, switched, failed, { type: 'returned', problem: null }), {
    phase: { step: 'idle' },
    outcome: { ...NAMES, outcome: 'rolled_back', error: 'it crashes', finished_at: 100, away_ms: null },
    refused: { ...TO, reason: 'it crashes', at: 100 },
    effect: 'tidy',
  });
});

test('where there is nothing to do, or it cannot be prepared or begun, nothing was changed', (t) => {
  const cases: readonly (readonly [readonly UpdaterEvent[], string | null])[] = [
    [[asked], null],
    [[asked], 'no room'],
    [[asked, prepared], 'the agent cannot be told'],
  ];
  for (const [events, error] of cases)
    t.deepEqual(after(...events, { type: 'left', from: '0.1.0', to: '0.2.0', error }), {
      phase: { step: 'idle' },
      outcome: { ...NAMES, outcome: 'unchanged', error, finished_at: 100, away_ms: null },
      refused: null,
      effect: 'tidy',
    });
});

test('a newer request takes the place of one that is prepared, by force if either was, and of none that went further', (t) => {
  const newer: Trigger = { by: 'request', request: 'two', force: false, asked_at: 2 };
  const forced: UpdaterEvent = { type: 'asked', trigger: { ...TRIGGER, by: 'hand', request: null, force: true } };

  const instead = after(forced, { type: 'asked', trigger: newer });
  const done = after(asked, { type: 'asked', trigger: newer }, prepared, switched, { type: 'committed', awayMs: 7 });
  const late = after(asked, prepared, { type: 'asked', trigger: newer });

  const trigger = { ...newer, force: true, asked_at: 1 };
  t.deepEqual([instead.phase, instead.effect], [{ step: 'preparing', wish: trigger, starts: 0 }, null]);
  t.like(done.outcome, { request: 'two', outcome: 'updated' });
  t.deepEqual([late.phase, late.effect], [after(asked, prepared).phase, null]);
});

test('each step that was interrupted is done again', (t) => {
  const cases: readonly (readonly [readonly UpdaterEvent[], string, string])[] = [
    [[], 'idle', 'tidy'],
    [[asked], 'preparing', 'prepare'],
    [[asked, prepared], 'switching', 'switch'],
    [[asked, prepared, switched], 'watching', 'watch'],
    [[asked, prepared, switched, failed], 'returning', 'return'],
  ];
  for (const [events, step, effect] of cases) {
    const { phase, effect: next } = after(...events, restarted());
    t.deepEqual([phase.step, next], [step, effect]);
  }
});

test('what is interrupted again and again is given up', (t) => {
  const again = Array.from({ length: STARTS_MAX }, () => restarted());

  t.like(after(asked, ...again), {
    phase: { step: 'idle' },
    outcome: {
      outcome: 'unchanged',
      error: `the updater was interrupted ${STARTS_MAX} times while it fetched the release`,
    },
  });
  t.like(after(asked, prepared, switched, ...again), { phase: { step: 'returning' }, effect: 'return' });
});

test('what is held up is taken up any number of times, where it stands', (t) => {
  const again = Array.from({ length: STARTS_MAX }, (): UpdaterEvent => ({ type: 'held-up', current: TO.name }));

  t.like(after(asked, ...again), { phase: { step: 'preparing', starts: 0 }, effect: 'prepare' });
  t.like(after(asked, prepared, switched, ...again), { phase: { step: 'watching', starts: 0 }, effect: 'watch' });
});

test('a version that the launcher left during the watch is gone back from', (t) => {
  const { phase } = after(asked, prepared, switched, restarted(FROM.name));

  t.like(phase, { step: 'returning', reason: 'its files were damaged when this machine started' });
});

test('news that do not fit, or come twice, change nothing', (t) => {
  const { state } = transition(FIRST_STATE, asked, 1);
  for (const event of [
    asked,
    switched,
    failed,
    { type: 'committed', awayMs: 1 },
    { type: 'returned', problem: null },
  ] as const)
    t.deepEqual(transition(state, event, 2), { state, effect: null });
});

test('a reason is cut to what an agent may tell', (t) => {
  const { outcome } = after(
    asked,
    prepared,
    switched,
    { type: 'failed', reason: 'x'.repeat(10_000) },
    { type: 'returned', problem: 'y' },
  );

  t.is(outcome?.error?.length, 4_096);
  t.true(outcome?.error?.startsWith('y; x'));
});
