/** Owners of one thing as a test says them, and what they answer: for tests of how operations get to their owner. */
import { setImmediate as aTurn } from 'node:timers/promises';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import type { Idempotency } from '../../../actors/node/messages.ts';
import { ok, type Result } from '../../../actors/refusal.ts';
import type { Forwardable } from '../../../api/forwarding/forwardable.ts';
import { Forwarding } from '../../../api/forwarding/forwarding.ts';
import type { Owner, PeerCall, PeerOutcome } from '../../../api/forwarding/ports.ts';
import type { AfterLoss } from '../../../api/forwarding/forwarded-part.ts';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';
import { recordingLog } from '../log.ts';
import { SOME_ID } from './fakes.ts';

/** What came to an admin. */
export interface Received {
  readonly admin: string;
  readonly call: PeerCall;
}

/** What an admin does with a call. `moved`: aborts once another one owns the thing. */
export type Scripted = (call: PeerCall, moved: AbortSignal) => Promise<PeerOutcome> | PeerOutcome;

/** One thing and its owners. */
export class ScriptedOwners {
  readonly clock: FakeClock = createFakeClock();
  readonly log = recordingLog();
  readonly received: Received[] = [];
  /** What was done here, in order. */
  readonly handled: { readonly idempotency: Idempotency | null; readonly isRepeat: boolean }[] = [];
  readonly records = new Map<string, unknown>();
  readonly forwarding: Forwarding;
  hasPeers = true;
  isDatabaseAway = false;
  looks = 0;
  owner: Owner = elsewhere('b', 7);
  /** What is remembered of it. */
  lately: Owner | null = null;
  /** By name of an admin, what it does with each call; the last goes on. */
  scripts: Record<string, Scripted> = {};
  here: (isRepeat: boolean) => Promise<Result<unknown>> = async () => Promise.resolve(ok('done here'));

  constructor() {
    const { clock } = this;
    this.forwarding = new Forwarding({
      owners: {
        hasPeers: () => this.hasPeers,
        of: async () => this.#now(),
        lately: () => this.lately,
        changed: (_owned, epoch, signal) => this.#changed(epoch, signal),
      },
      calls: {
        call: async (admin, call, moved) => {
          this.received.push({ admin, call });
          return (await this.scripts[admin]?.(call, moved)) ?? { type: 'lost', sure: true, why: 'is not there' };
        },
      },
      reads: {
        idempotencyRecord: async (scope, key) => {
          const answer = this.records.get(`${scope} ${key}`);
          return Promise.resolve(answer === undefined ? null : { bodyHash: '', answer });
        },
      },
      clock,
      monotonicMs: () => clock.nowMs(),
      newCallId: () => SOME_ID,
      log: this.log,
    });
  }

  /** What comes of an operation, and how long it took, in ms of its clock. */
  async ask(
    afterLoss: AfterLoss | null = 'again',
    changed: Partial<Forwardable<unknown>> = {},
  ): Promise<{ readonly result: Result<unknown> | Error; readonly ms: number }> {
    const beganMs = this.clock.nowMs();
    const settled: { readonly result: Result<unknown> | Error; readonly ms: number }[] = [];
    const settle = (result: Result<unknown> | Error): void => {
      settled.push({ result, ms: this.clock.nowMs() - beganMs });
    };
    void this.forwarding
      .perform<unknown>({
        operation: 'some_operation',
        input: { id: SOME_ID },
        afterLoss,
        idempotency: null,
        principal: 'api',
        surface: 'rest',
        requestId: 'request-1',
        trace: null,
        deadline: this.forwarding.deadline(),
        ownedBy: () => ({ kind: 'node', id: SOME_ID as never }),
        handle: async (idempotency, isRepeat) => {
          this.handled.push({ idempotency, isRepeat });
          return this.here(isRepeat);
        },
        ...changed,
      })
      .then(settle, settle);
    for (;;) {
      for (let turn = 0; turn < 5; turn += 1) await aTurn();
      const [first] = settled;
      if (first !== undefined) return first;
      this.clock.pass(10);
    }
  }

  #now(): Owner {
    this.looks += 1;
    if (this.isDatabaseAway) throw new DatabaseUnavailable('looking for an owner');
    return this.owner;
  }

  async #changed(epoch: number | null, signal: AbortSignal): Promise<void> {
    const isOver = (): boolean =>
      signal.aborted || (this.owner.type !== 'nobody' && (!('epoch' in this.owner) || this.owner.epoch !== epoch));
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (isOver()) resolve();
        else this.clock.after(100, look);
      };
      this.clock.after(100, look);
    });
  }
}

/** Another admin owns it. */
export function elsewhere(admin: string, epoch: number): Owner {
  return { type: 'elsewhere', admin, epoch };
}

/** Does one after the other; the last goes on. */
export function inTurn(...scripts: readonly Scripted[]): Scripted {
  let turn = 0;
  return (call, moved) => {
    const script = scripts[Math.min(turn, scripts.length - 1)];
    turn += 1;
    return script?.(call, moved) ?? { type: 'busy' };
  };
}

/** Says this. */
export function says(outcome: PeerOutcome): Scripted {
  return () => outcome;
}

/** Did it, and says so. */
export function answers(value: unknown): Scripted {
  return says({ type: 'answered', result: ok(value) });
}

/** The answer is lost at once. */
export const LOST: Scripted = says({ type: 'lost', sure: false, why: 'broke off' });

/** Nothing reached it. */
export const UNSENT: Scripted = says({ type: 'lost', sure: true, why: 'does not take connections' });

/** Never answers: ends when another one owns the thing, or the caller's time is up. */
export function silent(clock: FakeClock): Scripted {
  return (call, moved) =>
    new Promise((resolve) => {
      const end = (): void => resolve({ type: 'lost', sure: false, why: 'did not answer in time' });
      moved.addEventListener('abort', end, { once: true });
      clock.after(call.remaining_ms, end);
    });
}
