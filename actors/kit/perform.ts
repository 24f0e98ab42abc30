/** Effects, once their step is stored. The only place where a decision touches the outside. */
import type { Address, Addressed, Message } from '../messages.ts';
import type { NodeMessage } from '../node/messages.ts';
import type { Asks } from './asks.ts';
import { DatabaseUnavailable } from './ports.ts';
import type { Clock, Committer, Loader, Log, SessionLink } from './ports.ts';
import type { Effect } from './step.ts';

/** What effects reach. Every call returns at once; what comes of it later comes back as a message. */
export interface EffectPorts {
  readonly asks: Asks;
  readonly clock: Clock;
  readonly committer: Committer;
  readonly loader: Loader;
  readonly sessions: SessionLink;
  readonly log: Log;
  tell(addressed: Addressed): void;
  /** Runs while this admin holds the lease behind an actor, by its own monotonic clock: now, when the lease is renewed, or never. */
  whenOwned(address: Address, run: () => void): void;
  /** Starts an actor from its rows if it is not there. */
  revive(address: Address): void;
  /** Ends an actor that asked for it. */
  stop(address: Address): void;
}

/** Performs the effects of one actor, in order. Reminders of one actor are its own: the returned function ends them. */
export function createPerformer(self: Address, ports: EffectPorts): { perform(effects: readonly Effect[]): void; end(): void } {
  let reminders: Map<string, () => void> | null = null; // most actors never have one

  function perform(effects: readonly Effect[]): void {
    for (const effect of effects) one(effect);
  }

  function one(effect: Effect): void {
    switch (effect.type) {
      case 'tell':
        return ports.tell(effect.told);
      case 'answer':
        return ports.asks.answer(effect.to, effect.result);
      case 'send':
        return send(effect);
      case 'hang-up':
        return ports.sessions.hangUp(effect.session, effect.code, effect.reason);
      case 'remind':
        return remind(effect.key, effect.afterMs, effect.message);
      case 'load-open':
        return void loadOpen(effect.limit, effect.except);
      case 'look-up':
        return void lookUp(effect.executions, effect.retry);
      case 'revive':
        return ports.revive(effect.address);
      case 'stop':
        return ports.stop(self);
      default:
        throw new Error(`no such effect: ${JSON.stringify(effect satisfies never)}`);
    }
  }

  /** A paused owner that wakes after a takeover delivers nothing (O1): the new owner does. One whose lease is only late decides again when it is renewed: what it would have sent may be cancelled or expired by then (C8). */
  function send({ session, frame }: Extract<Effect, { type: 'send' }>): void {
    if (frame.type !== 'deliver') return ports.sessions.send(session, frame);
    let isLate = false;
    ports.whenOwned(self, () => {
      if (isLate) tellSelf({ type: 'delivery-withheld', session, executions: frame.deliveries.map((delivery) => delivery.execution) });
      else ports.sessions.send(session, frame);
    });
    isLate = true;
  }

  function remind(key: string, afterMs: number, message: Message): void {
    reminders ??= new Map();
    reminders.get(key)?.();
    reminders.set(key, ports.clock.after(afterMs, () => {
      reminders?.delete(key);
      tellSelf(message);
    }));
  }

  async function loadOpen(limit: number, except: readonly string[]): Promise<void> {
    if (self.kind !== 'node') return;
    const loaded = await untilLoaded(() => ports.loader.openExecutions(self.id, limit, except));
    if (loaded !== null) tellSelf({ type: 'executions-loaded', executions: loaded.executions, more: loaded.more });
  }

  async function lookUp(asked: Extract<Effect, { type: 'look-up' }>['executions'], retry: NodeMessage): Promise<void> {
    if (self.kind !== 'node') return;
    const executions = await untilLoaded(() => ports.loader.findOpen(self.id, asked));
    if (executions !== null) tellSelf({ type: 'executions-looked-up', asked, executions, retry });
  }

  /** The rows, however long the database is away. Null when reading fails for another reason, which is a bug and logged. */
  async function untilLoaded<T>(load: () => Promise<T>): Promise<T | null> {
    for (;;) {
      try {
        return await load();
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) {
          ports.log.error({ error, kind: self.kind, id: self.id }, 'rows of an actor could not be read');
          return null;
        }
        await new Promise<void>((resolve) => {
          ports.clock.after(RELOAD_MS, resolve);
        });
        await ports.committer.ready();
      }
    }
  }

  function tellSelf(message: Message): void {
    ports.tell({ to: self, message } as Addressed);
  }

  return {
    perform,
    end() {
      for (const cancel of reminders?.values() ?? []) cancel();
      reminders = null;
    },
  };
}

/** Wait between two reads while the database is away, in ms. */
const RELOAD_MS = 250;
