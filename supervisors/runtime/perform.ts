/** Effects, once their step is stored. The only place where a decision touches the outside. */
import { actorFields, type Address, type Addressed, type Message } from '../../actors/messages.ts';
import type { NodeMessage } from '../../actors/node/messages.ts';
import type { Asks } from './asks.ts';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { Effect } from '../../actors/step.ts';
import type { Tracer } from '../../actors/tracer.ts';
import type { Committer, GatewayLink, Loader, MeshWatch, SessionLink, SshVerifier, WebhookPosts } from '../ports.ts';

/** What effects reach. Every call returns at once; what comes of it later comes back as a message. */
export interface EffectPorts {
  readonly asks: Asks;
  readonly clock: Clock;
  readonly committer: Committer;
  readonly loader: Loader;
  readonly sessions: SessionLink;
  readonly posts: WebhookPosts;
  readonly ssh: SshVerifier;
  readonly tracer: Pick<Tracer, 'ended'>;
  readonly meshes: MeshWatch;
  readonly gateway: GatewayLink;
  readonly log: Log;
  /** False: its mailbox is full, or it takes nothing now. */
  tell(addressed: Addressed): boolean;
  /**
   * Runs while this admin holds the lease behind an actor, by its own lease clock: now, when the lease is renewed, or
   * never.
   */
  whenOwned(address: Address, run: () => void): void;
  /** Starts an actor from its rows if it is not there. */
  revive(address: Address): void;
  /** Ends an actor that asked for it. */
  stop(address: Address): void;
}

/** Performs the effects of one actor, in order. A class, because there is one for each of 10,000 actors. */
export class Performer {
  readonly #self: Address;
  readonly #ports: EffectPorts;
  /** Most actors never have one. */
  #reminders: Map<string, () => void> | null = null;
  #ended = false;

  constructor(self: Address, ports: EffectPorts) {
    this.#self = self;
    this.#ports = ports;
  }

  perform(effects: readonly Effect[]): void {
    for (const effect of effects) this.#one(effect);
  }

  /** Forgets the reminders of this actor. What it posted is no news to the next one, which posts it again. */
  end(): void {
    this.#ended = true;
    for (const cancel of this.#reminders?.values() ?? []) cancel();
    this.#reminders = null;
  }

  #one(effect: Effect): void {
    const ports = this.#ports;
    switch (effect.type) {
      case 'tell':
        return void ports.tell(effect.told);
      case 'answer':
        return ports.asks.answer(effect.to, effect.result);
      case 'send':
        return this.#send(effect);
      case 'hang-up':
        return ports.sessions.hangUp(effect.session, effect.code, effect.reason);
      case 'renew-session':
        return ports.sessions.renew(effect.session, effect.cluster);
      case 'remind':
        return this.#remind(effect.key, effect.afterMs, effect.message);
      case 'load-open':
        return void this.#loadOpen(effect.limit, effect.except);
      case 'look-up':
        return void this.#lookUp(effect.executions, effect.retry);
      case 'revive':
        return ports.revive(effect.address);
      case 'load-deliveries':
        return void this.#loadDeliveries(effect);
      case 'post':
        return void this.#post(effect);
      case 'verify-ssh':
        return void this.#verifySsh(effect);
      case 'limit-ssh':
        return ports.ssh.limited();
      case 'check-ssh-grants':
        return void this.#checkSshGrants(effect);
      case 'cut-posts':
        return ports.posts.cut(this.#self.id);
      case 'read-mesh':
        return this.#self.kind === 'cluster' ? ports.meshes.readNow(this.#self.id) : undefined;
      case 'gateway':
        return ports.gateway.become(effect.mesh);
      case 'warn':
        return ports.log.warn({ ...effect.fields, ...actorFields(this.#self) }, effect.message);
      case 'trace':
        return ports.tracer.ended(effect.span);
      case 'stop':
        return ports.stop(this.#self);
      default:
        throw new Error(`no such effect: ${JSON.stringify(effect satisfies never)}`);
    }
  }

  /**
   * A paused owner that wakes after a takeover delivers nothing (O1): the new owner does. One whose lease is only late
   * decides again when it is renewed: what it would have sent may be cancelled or expired by then (C8).
   */
  #send({ session, frame }: Extract<Effect, { type: 'send' }>): void {
    if (frame.type !== 'deliver') return this.#ports.sessions.send(session, frame);
    let isLate = false;
    this.#ports.whenOwned(this.#self, () => {
      if (isLate)
        this.#tellSelf({
          type: 'delivery-withheld',
          session,
          executions: frame.deliveries.map((delivery) => delivery.execution),
        });
      else this.#ports.sessions.send(session, frame);
    });
    isLate = true;
  }

  #remind(key: string, afterMs: number, message: Message): void {
    this.#reminders ??= new Map();
    this.#reminders.get(key)?.();
    this.#reminders.set(
      key,
      this.#ports.clock.after(afterMs, () => {
        this.#reminders?.delete(key);
        this.#report(message);
      }),
    );
  }

  async #loadOpen(limit: number, except: readonly string[]): Promise<void> {
    const self = this.#self;
    if (self.kind !== 'node') return;
    const loaded = await this.#untilLoaded(() => this.#ports.loader.openExecutions(self.id, limit, except));
    if (loaded !== null)
      this.#tellSelf({ type: 'executions-loaded', executions: loaded.executions, more: loaded.more });
  }

  async #lookUp(asked: Extract<Effect, { type: 'look-up' }>['executions'], retry: NodeMessage): Promise<void> {
    const self = this.#self;
    if (self.kind !== 'node') return;
    const executions = await this.#untilLoaded(() => this.#ports.loader.findOpen(self.id, asked));
    if (executions !== null) this.#tellSelf({ type: 'executions-looked-up', asked, executions, retry });
  }

  async #loadDeliveries({ load, after, limit }: Extract<Effect, { type: 'load-deliveries' }>): Promise<void> {
    const loaded = await this.#untilLoaded(() => this.#ports.loader.deliveries(this.#self.id, after, limit));
    if (loaded !== null && !this.#ended)
      this.#report({ type: 'deliveries-loaded', load, deliveries: loaded.deliveries, more: loaded.more });
  }

  async #post({ webhook, delivery }: Extract<Effect, { type: 'post' }>): Promise<void> {
    const attempt = await this.#ports.posts.post(webhook, delivery);
    this.#report({ type: 'delivery-attempted', delivery: delivery.id, attempt, random: Math.random() });
  }

  async #verifySsh({ session, attempt, username, credential }: Extract<Effect, { type: 'verify-ssh' }>): Promise<void> {
    if (this.#self.kind !== 'node') return;
    const outcome = await this.#ports.ssh.verify(this.#self.id, username, credential);
    this.#report({ type: 'ssh-verified', session, attempt, outcome });
  }

  async #checkSshGrants({ session, grants }: Extract<Effect, { type: 'check-ssh-grants' }>): Promise<void> {
    const self = this.#self;
    if (self.kind !== 'node') return;
    const gone = await this.#untilLoaded(() => this.#ports.ssh.gone(self.id, grants));
    if (gone !== null) this.#report({ type: 'ssh-grants-checked', session, ...gone });
  }

  /**
   * The rows, however long the database is away. Null when reading fails for another reason, which is a bug and logged.
   */
  async #untilLoaded<T>(load: () => Promise<T>): Promise<T | null> {
    const { clock, committer, log } = this.#ports;
    for (;;) {
      try {
        return await load();
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) {
          log.error({ error, ...actorFields(this.#self) }, 'rows of an actor could not be read');
          return null;
        }
        await new Promise<void>((resolve) => {
          clock.after(RELOAD_MS, resolve);
        });
        await committer.ready();
      }
    }
  }

  /** What the actor asked for and waits for: while its mailbox is full it is told again, since nobody else will. */
  #report(message: Message): void {
    if (this.#ended || this.#ports.tell({ to: this.#self, message } as Addressed)) return;
    this.#ports.clock.after(REPORT_AGAIN_MS, () => this.#report(message));
  }

  #tellSelf(message: Message): void {
    this.#ports.tell({ to: this.#self, message } as Addressed);
  }
}

/** Wait before a full mailbox is tried again, in ms. */
const REPORT_AGAIN_MS = 250;

/** Wait between two reads while the database is away, in ms. */
const RELOAD_MS = 250;
