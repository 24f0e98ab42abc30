/**
 * Rows, an actor over them as the kit runs it, and a receiver: whatever happens in whatever order, what V2 promises is
 * checked at each request.
 */
import type { Effect, Step } from '../../../../actors/step.ts';
import { refuse } from '../../../../actors/refusal.ts';
import type { DeliveryStatus } from '../../../../actors/resources/webhook.ts';
import type { DeliveryRef } from '../../../../actors/webhook/delivery.ts';
import type { WebhookMessage } from '../../../../actors/webhook/messages.ts';
import {
  REDELIVERIES_MAX,
  unloaded,
  WINDOW_DELIVERIES_MAX,
  type WebhookState,
} from '../../../../actors/webhook/state.ts';
import type { HotWrite } from '../../../../actors/writes.ts';
import { REPLY_TO, id, NOW_MS } from '../../../support/actors.ts';
import { answered, behaviour, decided, FAILED, RECORD, SETTINGS } from '../../../support/webhooks/webhook-actor.ts';

interface Row {
  readonly ref: DeliveryRef;
  readonly number: number;
  readonly subject: number;
  status: DeliveryStatus;
  attempts: number;
  attemptsMax: number;
  dueAtMs: number | null;
  /** Sent again by hand: it keeps no order. */
  byHand: boolean;
  /** Requests that the receiver saw. */
  requests: number;
}

interface Load {
  readonly load: number;
  readonly deliveries: readonly DeliveryRef[];
  readonly more: boolean;
}

/**
 * What becomes of the write of a try: it is stored; nobody knows, and it was or was not; or another admin's try was
 * stored first.
 */
export type Fate = 'stored' | 'in doubt, stored' | 'in doubt, not stored' | 'overtaken';

/** How receivers answer. */
export type Answer = 'delivered' | 'later' | 'refused' | 'no answer';

const ATTEMPTS = {
  delivered: answered(204),
  later: answered(503),
  refused: answered(410),
  'no answer': FAILED,
} as const;

/** Nothing yet. */
export class WebhookFixture {
  readonly rows: Row[] = [];
  state: WebhookState = unloaded(RECORD);
  nowMs = NOW_MS;
  /** What is under way. Ends with the actor that asked for it. */
  requests: { readonly row: Row; readonly isRedelivery: boolean }[] = [];
  loads: Load[] = [];
  reminders = new Map<string, { readonly atMs: number; readonly message: WebhookMessage }>();
  /** Subjects whose order another admin disturbed, and tries that nobody counted: what was under way at a crash. */
  readonly disturbed = new Set<number>();
  readonly problems: string[] = [];

  constructor() {
    this.#perform(behaviour.recoveryEffects(this.state, this.nowMs));
  }

  /** Events are routed, and it is told. */
  store(subjects: readonly number[], isTold: boolean): void {
    for (const subject of subjects) {
      const number = this.rows.length + 1;
      const ref: DeliveryRef = {
        id: id('d', number),
        cursor: `${98 + Math.floor(number / 7)}-${number}`,
        eventId: id('e', number),
        subject: id('b', subject),
        attempts: 0,
        attemptsMax: 3,
        dueAtMs: null,
        // two of three have no row before their first try
        unstored: number % 3 === 0 ? null : { eventType: 'edge.core.test', storedAtMs: NOW_MS },
      };
      this.rows.push({
        ref,
        number,
        subject,
        status: 'pending',
        attempts: 0,
        attemptsMax: 3,
        dueAtMs: null,
        byHand: false,
        requests: 0,
      });
    }
    if (isTold) this.#say({ type: 'deliveries-stored' });
  }

  /** The database answers a load. */
  answerLoad(pick: number): void {
    const [load] = this.loads.splice(pick % Math.max(1, this.loads.length), 1);
    if (load !== undefined) this.#say({ type: 'deliveries-loaded', ...load });
  }

  /** A receiver answers. */
  answerRequest(pick: number, answer: Answer, random: number, fate: Fate = 'stored'): void {
    const [request] = this.requests.splice(pick % Math.max(1, this.requests.length), 1);
    if (request !== undefined)
      this.#say({ type: 'delivery-attempted', delivery: request.row.ref.id, attempt: ATTEMPTS[answer], random }, fate);
  }

  /** Someone wants a delivery to be sent again. */
  redeliver(pick: number, fate: Fate = 'stored'): void {
    const row = this.rows[pick % Math.max(1, this.rows.length)];
    if (row !== undefined) this.#say({ type: 'redeliver', replyTo: REPLY_TO, delivery: this.#refOf(row) }, fate);
  }

  /** Time goes by. */
  pass(ms: number): void {
    this.nowMs += ms;
    for (const [key, { atMs, message }] of [...this.reminders].toSorted(([, a], [, b]) => a.atMs - b.atMs)) {
      if (atMs > this.nowMs || this.reminders.get(key)?.message !== message) continue;
      this.reminders.delete(key);
      this.#say(message);
    }
  }

  /** The actor crashes, or another admin takes over: what was under way is cut, and nobody hears what came of it. */
  restart(): void {
    this.requests = [];
    this.loads = [];
    this.reminders = new Map();
    this.state = unloaded(RECORD);
    for (const row of this.rows) row.byHand = false;
    this.#perform(behaviour.recoveryEffects(this.state, this.nowMs));
  }

  /** Lets everything come to its end, with receivers that answer well. */
  settle(): void {
    this.#say({ type: 'deliveries-stored' });
    for (let turns = 0; this.requests.length + this.loads.length + this.reminders.size > 0; turns += 1) {
      if (turns > 100_000) throw new Error('it comes to no end');
      if (this.loads.length > 0) this.answerLoad(0);
      else if (this.requests.length > 0) this.answerRequest(0, 'delivered', 0);
      else this.pass(1_000_000);
    }
  }

  /** What the kit does with a message: decide, commit, perform; after a refusal or a doubt the rows are read first. */
  #say(message: WebhookMessage, fate: Fate = 'stored'): void {
    const step = decided(this.state, message, this.nowMs);
    const write = step.changes[0]?.write as HotWrite | undefined;
    if (write !== undefined && fate === 'overtaken') this.#overtake(write);
    if (write !== undefined && fate.startsWith('in doubt')) {
      if (fate === 'in doubt, stored') this.#apply(write);
      this.#recover(this.state);
      if (message.type !== 'redeliver') this.#say(message); // who asked was told to try again
    } else if (write === undefined || this.#apply(write)) this.#performed(step);
    else if (message.type === 'redeliver') this.#recover(this.state);
    else {
      this.#performed(step);
      this.#recover(step.state);
      this.#say({ type: 'refused', write, refusal: refuse('conflict', 'no').refusal });
    }
    this.#checkWindow();
  }

  #performed(step: Step<WebhookState>): void {
    this.state = step.state;
    this.#perform(step.effects);
  }

  #recover(live: WebhookState): void {
    this.state = behaviour.refreshed(live, unloaded(RECORD));
    this.#perform(behaviour.recoveryEffects(this.state, this.nowMs));
  }

  /** As the statements of the committer guard it. */
  #apply(write: HotWrite): boolean {
    const row = this.rows.find(({ ref }) => 'delivery' in write && ref.id === write.delivery);
    if (row === undefined) throw new Error('a write of no row');
    if (write.kind === 'delivery-reopened') {
      if (row.status === 'pending' || row.attempts !== write.attempts) return false;
      Object.assign(row, { status: 'pending', attemptsMax: row.attempts + 1, byHand: true });
      return true;
    }
    if (write.kind !== 'delivery-attempted' && write.kind !== 'delivery-made') return false;
    const number = write.kind === 'delivery-made' ? 1 : write.number;
    if (row.status !== 'pending' || row.attempts !== number - 1) return false;
    Object.assign(row, { status: write.status, attempts: number, dueAtMs: write.nextAttemptAtMs });
    return true;
  }

  #overtake(write: HotWrite): void {
    const row = this.rows.find(({ ref }) => 'delivery' in write && ref.id === write.delivery);
    if (row === undefined || row.status !== 'pending') return;
    row.requests += 1;
    row.attempts += 1;
    row.status = row.attempts >= row.attemptsMax ? 'dropped' : 'pending';
    row.dueAtMs = row.status === 'pending' ? this.nowMs + 100 : null;
    this.disturbed.add(row.subject);
  }

  #perform(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === 'send-delivery') this.#send(effect.delivery);
      if (effect.type === 'load-deliveries') this.#load(effect);
      if (effect.type === 'remind')
        this.reminders.set(effect.key, {
          atMs: this.nowMs + effect.afterMs,
          message: effect.message as WebhookMessage,
        });
    }
  }

  #load({ load, after, limit }: Extract<Effect, { type: 'load-deliveries' }>): void {
    const behind = Number(after?.split('-')[1] ?? 0);
    const open = this.rows.filter((row) => row.status === 'pending' && row.number > behind);
    this.loads.push({
      load,
      deliveries: open.slice(0, limit).map((row) => this.#refOf(row)),
      more: open.length > limit,
    });
  }

  #refOf(row: Row): DeliveryRef {
    const { attempts, attemptsMax, dueAtMs } = row;
    return { ...row.ref, attempts, attemptsMax, dueAtMs, unstored: attempts === 0 ? row.ref.unstored : null };
  }

  #send(delivery: DeliveryRef): void {
    const row = this.rows.find(({ ref }) => ref.id === delivery.id)!;
    const isRedelivery = this.state.window.find(({ ref }) => ref.id === delivery.id)?.isRedelivery ?? false;
    row.requests += 1;
    if (row.status !== 'pending') this.problems.push(`${row.number} is sent, and is ${row.status}`);
    if (this.requests.some((request) => request.row === row)) this.problems.push(`${row.number} is in flight twice`);
    if (delivery.attempts !== row.attempts)
      this.problems.push(`${row.number} is sent as if after ${delivery.attempts} tries, not ${row.attempts}`);
    if (delivery.dueAtMs !== null && delivery.dueAtMs > this.nowMs)
      this.problems.push(`${row.number} is sent too early`);
    if (!isRedelivery) {
      if (this.requests.some((request) => !request.isRedelivery && request.row.subject === row.subject))
        this.problems.push(`two of subject ${row.subject} are in flight`);
      const earlier = this.rows.find(
        (other) =>
          other.subject === row.subject && other.number < row.number && other.status === 'pending' && !other.byHand,
      );
      if (earlier !== undefined && !this.disturbed.has(row.subject))
        this.problems.push(`${row.number} is sent before ${earlier.number}`);
    }
    this.requests.push({ row, isRedelivery });
    if (this.requests.length > SETTINGS.concurrency) this.problems.push(`${this.requests.length} are in flight`);
  }

  #checkWindow(): void {
    const byHand = this.state.window.filter(({ isRedelivery }) => isRedelivery).length;
    if (byHand > REDELIVERIES_MAX || this.state.window.length - byHand > 1.5 * WINDOW_DELIVERIES_MAX)
      this.problems.push(`${this.state.window.length} are in the window`);
    if (new Set(this.state.window.map(({ ref }) => ref.id)).size < this.state.window.length)
      this.problems.push('one is in the window twice');
  }
}
