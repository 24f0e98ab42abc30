/** What the updater knows of itself, as it stands in state.json, and what can happen to it. */
import { z } from 'zod';
import { UPDATE_ERROR_CHARS_MAX } from '../../transport/protocol/limits.ts';

/** Longest word that names a request. The agent's are UUIDs. */
export const REQUEST_CHARS_MAX = 64;

/** Most problems of an agent that are remembered over an update. */
const PROBLEMS_MAX = 32;

const Name = z.string().max(128);
const UnixMs = z.int().min(0);

/** A version on the disk: the name of its directory, and what it calls itself. */
const OnDisk = z.object({ name: Name, version: z.string().max(64) });
/** A version on the disk. */
export type OnDisk = z.infer<typeof OnDisk>;

/** Who wants an update. `force`: also one that was gone back from. On the disk, and so below, it is `wish`. */
const Trigger = z.object({
  by: z.enum(['request', 'hand', 'timer']),
  request: z.string().max(REQUEST_CHARS_MAX).nullable(),
  force: z.boolean(),
  asked_at: UnixMs,
});
/** Who wants an update. */
export type Trigger = z.infer<typeof Trigger>;

/** A switch under way. `problems`: what the agent said of its services before, which is not the new version's fault. */
const Switch = z.object({
  wish: Trigger,
  from: OnDisk,
  to: OnDisk,
  /** Where the link `previous` led, so that it leads there again. */
  before: Name.nullable(),
  problems: z.array(z.string().max(512)).max(PROBLEMS_MAX),
  restarted_at: UnixMs.nullable(),
});
/** A switch under way. */
export type Switch = z.infer<typeof Switch>;

/** Where it is. Each is stored before anything is done about it. */
const Phase = z.discriminatedUnion('step', [
  z.object({ step: z.literal('idle') }),
  z.object({ step: z.literal('preparing'), wish: Trigger, starts: z.int().min(0) }),
  z.object({ step: z.literal('switching'), change: Switch }),
  z.object({ step: z.literal('watching'), change: Switch, starts: z.int().min(0) }),
  z.object({ step: z.literal('returning'), change: Switch, reason: z.string().max(UPDATE_ERROR_CHARS_MAX) }),
]);
/** Where it is. */
export type Phase = z.infer<typeof Phase>;

/** Who wants what is under way. */
export function triggerOf(phase: Exclude<Phase, { step: 'idle' }>): Trigger {
  return phase.step === 'preparing' ? phase.wish : phase.change.wish;
}

/** What came of the last update. `from` and `to` are versions; `away_ms`: how long the agent was not connected. */
const Outcome = z.object({
  request: z.string().max(REQUEST_CHARS_MAX).nullable(),
  outcome: z.enum(['updated', 'rolled_back', 'unchanged']),
  from: z.string().max(64),
  to: z.string().max(64),
  error: z.string().max(UPDATE_ERROR_CHARS_MAX).nullable(),
  finished_at: UnixMs,
  away_ms: z.int().min(0).nullable(),
});
/** What came of an update. */
export type Outcome = z.infer<typeof Outcome>;

/** All of it. */
export const State = z.object({
  format: z.literal(1),
  phase: Phase,
  outcome: Outcome.nullable(),
  /** The version that was gone back from last; not tried again without being asked for. */
  refused: OnDisk.extend({ reason: z.string().max(UPDATE_ERROR_CHARS_MAX), at: UnixMs }).nullable(),
  /** No other version than this one is installed. */
  pinned: z.string().max(64).nullable(),
});
export type State = z.infer<typeof State>;

/** Before anything happened. */
export const FIRST_STATE: State = { format: 1, phase: { step: 'idle' }, outcome: null, refused: null, pinned: null };

/** Why an update is taken up. */
export type TakingUp = 'restarted' | 'held-up';

/** What can happen. */
export type UpdaterEvent =
  /** Also of an update that is prepared already, which nobody begins anew for it. */
  | { readonly type: 'asked'; readonly trigger: Trigger }
  /**
   * What stands on the disk goes on: the program starts or takes up what another one left (`restarted`), or what it
   * could not do or store itself (`held-up`), which is no start. `current`: the name that the link has now.
   */
  | { readonly type: TakingUp; readonly current: string | null }
  /** Nothing was changed, neither the links nor what runs: why, or null where there was nothing to do. */
  | { readonly type: 'left'; readonly from: string; readonly to: string; readonly error: string | null }
  | { readonly type: 'prepared'; readonly change: Omit<Switch, 'restarted_at'> }
  /** `restartedAt`: when the restart began, in Unix ms. */
  | { readonly type: 'switched'; readonly restartedAt: number }
  | { readonly type: 'committed'; readonly awayMs: number | null }
  | { readonly type: 'failed'; readonly reason: string }
  /** `problem`: why it is not the version before that runs now; null: it is. */
  | { readonly type: 'returned'; readonly problem: string | null }
  | { readonly type: 'pin'; readonly version: string | null };

/** What is to be done next; null: nothing. */
export type UpdaterEffect = 'prepare' | 'switch' | 'watch' | 'return' | 'tidy' | null;

/** The next state, and what it asks for. */
export interface UpdaterStep {
  readonly state: State;
  readonly effect: UpdaterEffect;
}
