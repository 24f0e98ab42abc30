/** Which actors are here: finds, starts, restarts and ends actors, and answers for those that are not here. */
import { start as startSystem } from 'nact';
import { actorFields, type ActorKind, type Address, type Addressed, type Message } from '../../actors/messages.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Refusal } from '../../actors/refusal.ts';
import { UNAVAILABLE } from '../../actors/refusal.ts';
import type { Tracer } from '../../actors/tracer.ts';
import type { Log } from '../../transport/net/log.ts';
import { CLOSE, IN_DOUBT_REASON } from '../../transport/protocol/close-codes.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { HeldLeases } from '../ownership/held.ts';
import type { Committer, SessionLink, WebhookSender } from '../ports.ts';
import { ActorCell, type ActorContext } from './actor-cell.ts';
import { replyToOf, type Asks } from './asks.ts';
import { DeadLetters } from './dead-letters.ts';
import type { Performers } from './domain-effects.ts';
import { createFamily, type Family } from './family.ts';
import { byKind, type KindTable } from './kinds.ts';
import { decideRestart, ELSEWHERE, isForOwner, NOT_DELIVERING, Revival, type Orphans } from './revival.ts';
import type { Crash } from './crash.ts';

/** What the directory gives to the actors that it starts, and where it finds them. */
export interface DirectoryPorts {
  readonly kinds: KindTable;
  readonly held: HeldLeases;
  readonly asks: Asks;
  readonly clock: Clock;
  readonly committer: Committer;
  readonly sessions: SessionLink;
  readonly webhookSender: Pick<WebhookSender, 'cut'>;
  /** Effects that are not the runtime's own. */
  readonly domains: Performers;
  readonly tracer: Pick<Tracer, 'ended'>;
  readonly log: Log;
  readonly orphans: Orphans;
}

/** What happened so far, for metrics. */
export interface DirectoryCounters {
  readonly deadLetters: number;
  readonly crashes: number;
  readonly escalations: number;
}

/**
 * When a create that was in doubt is looked for again, in ms: the server has ended by then what it had begun (its
 * timeouts end at 3 s).
 */
const SECOND_LOOK_MS = 5_000;

/** Empty at first. */
export class Directory {
  readonly #counters = { crashes: 0, escalations: 0 };
  readonly #deadLetters: DeadLetters;
  readonly #cells = byKind(() => new Map<string, ActorCell>());
  readonly #families: Readonly<Record<ActorKind, Family>>;
  readonly #ports: DirectoryPorts;
  readonly #revival: Revival;
  readonly #context: ActorContext;

  constructor(ports: DirectoryPorts) {
    this.#ports = ports;
    this.#deadLetters = new DeadLetters(ports);
    const system = startSystem();
    this.#families = byKind((kind) => createFamily(system, kind));
    this.#revival = new Revival({
      held: ports.held,
      clock: ports.clock,
      committer: ports.committer,
      log: ports.log,
      orphans: ports.orphans,
      isVacant: (cell) => this.find(cell.address) === cell && !cell.isRunning,
      start: (cell, state) => this.#start(cell, state, true),
      leave: (cell, refusal) => this.#leave(cell, refusal),
    });
    this.#context = this.#contextOfCells();
  }

  get counters(): DirectoryCounters {
    return { ...this.#counters, deadLetters: this.#deadLetters.count };
  }

  /**
   * Gives a message to an actor, starting it from rows when it is not here. False: refused, who waits is answered. What
   * is for its owner alone is dropped where that is another admin, by its `cluster`, or where nobody knows: of nodes
   * that are awaited here it is looked for in the rows once they are here (ClusterActivation), and those of others may
   * be many.
   */
  tell({ to, message }: Addressed, cluster = to.kind === 'cluster' ? to.id : undefined): boolean {
    const known = this.#cells[to.kind].get(to.id);
    if (known === undefined && isForOwner(message) && (cluster === undefined || !this.#ports.held.holds(cluster)))
      return true;
    const cell = known ?? this.#arrive(to, message);
    if ((cell.resting && replyToOf(message as { replyTo?: never }) !== null) || !cell.mailbox.push(message)) {
      this.#deadLetters.take(to, message, UNAVAILABLE);
      return false;
    }
    cell.wake();
    return true;
  }

  /** As `tell`, but only to an actor that is here. */
  tellLocal(addressed: Addressed): void {
    if (this.isLocal(addressed.to)) this.tell(addressed);
  }

  /** Starts one whose rows are known already. */
  activate(address: Address, state: unknown): void {
    if (!this.isLocal(address)) this.#start(this.#enter(address), state, true);
  }

  /** Ends every actor of a cluster that is not ours any more, and hangs up their agents unless they stay for now. */
  evict(cluster: ClusterId, agents: 'agents go' | 'agents stay' = 'agents go'): void {
    for (const kind of ['node', 'cluster'] as const) {
      for (const cell of this.#cells[kind].values()) {
        if (cell.cluster !== cluster && cell.address.id !== cluster) continue;
        if (kind === 'node' && agents === 'agents go')
          this.#ports.sessions.hangUpNode(cell.address.id as never, CLOSE.elsewhere, '');
        this.#leave(cell, ELSEWHERE);
      }
    }
  }

  /**
   * Ends the actors of these webhooks, or of all, and cuts their requests: another admin delivers now, or their rows
   * changed elsewhere. Messages that wait are answered.
   */
  evictWebhooks(ids?: readonly string[]): void {
    const { webhook: here } = this.#cells;
    for (const cell of ids === undefined ? here.values() : ids.flatMap((id) => here.get(id) ?? [])) {
      this.#ports.webhookSender.cut(cell.address.id);
      this.#leave(cell, NOT_DELIVERING);
    }
  }

  /** Ends the actors of all self-update requests: another admin moves them now. */
  evictSelfUpdates(): void {
    for (const cell of this.#cells['self-update'].values()) this.#leave(cell, NOT_DELIVERING);
  }

  /** Whether it is here now, or starting. */
  isLocal(address: Address): boolean {
    return this.#cells[address.kind].has(address.id);
  }

  /** Undefined: it is not here. */
  find(address: Address): ActorCell | undefined {
    return this.#cells[address.kind].get(address.id);
  }

  count(kind: ActorKind): number {
    return this.#cells[kind].size;
  }

  /** Those of a kind that are here now, for inspection. */
  cells(kind: ActorKind): Iterable<ActorCell> {
    return this.#cells[kind].values();
  }

  /** Parents over the actors of a kind. */
  shards(kind: ActorKind): number {
    return this.#families[kind].shards();
  }

  #contextOfCells(): ActorContext {
    const { committer, clock, held, asks, sessions, domains, tracer, log } = this.#ports;
    return {
      committer,
      clock,
      held,
      crashed: (cell, crash) => this.#crashed(cell, crash),
      vanished: (cell) => this.#vanished(cell),
      moved: (cell) => this.#moved(cell),
      effects: {
        asks,
        clock,
        committer,
        sessions,
        domains,
        tracer,
        log,
        tell: (addressed, cluster) => this.tell(addressed, cluster),
        revive: (address) => void this.#ensure(address),
        stop: (address) => this.#stop(address),
        restart: (address, live) => this.#restart(address, live),
        whenOwned: (address, run) => this.#whenOwned(address, run),
      },
    };
  }

  #arrive(address: Address, message: Message): ActorCell {
    const initialState = message.type === 'create' ? this.#ports.kinds[address.kind].initialState(address.id) : null;
    if (initialState === null) return this.#ensure(address);
    const cell = this.#enter(address);
    this.#start(cell, initialState, false);
    return cell;
  }

  #ensure(address: Address): ActorCell {
    const known = this.find(address);
    if (known !== undefined) return known;
    const cell = this.#enter(address);
    void this.#revival.revive(cell);
    return cell;
  }

  #enter(address: Address): ActorCell {
    const cell = new ActorCell(address, this.#ports.kinds[address.kind], this.#context);
    this.#cells[address.kind].set(address.id, cell);
    return cell;
  }

  #start(cell: ActorCell, state: unknown, again: boolean): void {
    cell.start(this.#families[cell.address.kind].take(cell.address.id), state);
    const nowMs = this.#ports.clock.nowMs();
    if (again) cell.perform(cell.behaviour.recoveryEffects(state, nowMs), nowMs);
  }

  #crashed(cell: ActorCell, crash: Crash): void {
    const { clock, log, sessions, webhookSender } = this.#ports;
    cell.vacate();
    this.#counters.crashes += 1;
    cell.crashes += 1;
    cell.lastCrash = {
      atMs: clock.nowMs(),
      messageType: crash.messageType,
      error: crash.cause instanceof Error ? crash.cause.name : typeof crash.cause,
    };
    const decision = decideRestart(cell.crashesMs, clock.nowMs());
    cell.crashesMs = decision.crashesMs;
    cell.resting = decision.escalated;
    if (decision.escalated) this.#counters.escalations += 1;
    // Only type and id: a message may hold secrets.
    log.error(
      {
        error: crash.cause,
        ...actorFields(cell.address),
        message_type: crash.messageType,
        restart_in_ms: decision.afterMs,
        escalated: decision.escalated,
      },
      'an actor crashed',
    );
    if (cell.address.kind === 'node') sessions.hangUpNode(cell.address.id, CLOSE.shuttingDown, 'the node restarts');
    if (cell.address.kind === 'webhook') webhookSender.cut(cell.address.id);
    clock.after(decision.afterMs, () => void this.#revival.revive(cell));
  }

  #stop(address: Address): void {
    const cell = this.find(address);
    if (cell === undefined) return;
    const left = cell.mailbox.drain();
    cell.vacate();
    this.#cells[address.kind].delete(address.id);
    // Someone spoke to it while it ended: it starts again from its rows, or they are told that there are none.
    for (const message of left) this.tell({ to: address, message } as Addressed);
  }

  #restart(address: Address, live: unknown): void {
    const cell = this.find(address) ?? this.#enter(address);
    cell.outlive(live);
    void this.#revival.revive(cell);
  }

  /**
   * Deleted, though nobody could be told: what is under way ends all the same (V2, E5). An agent is told why by the
   * gate, as a database that was set back lacks rows that nobody deleted. A create whose commit was in doubt may still
   * come through, when the server works off what it had: its nodes are told then.
   */
  #vanished({ address }: ActorCell): void {
    if (address.kind === 'webhook') this.#ports.webhookSender.cut(address.id);
    if (address.kind === 'node') this.#ports.sessions.hangUpNode(address.id, CLOSE.shuttingDown, IN_DOUBT_REASON);
    this.#stop(address);
    if (address.kind !== 'command') return;
    this.#ports.clock.after(
      SECOND_LOOK_MS,
      () => void this.tell({ to: address, message: { type: 'executions-changed', changes: [] } }),
    );
  }

  /** A node that came into another cluster, though nobody could be told: its agent comes back to whose that one is. */
  #moved({ address }: ActorCell): void {
    if (address.kind === 'node') this.#ports.sessions.hangUpNode(address.id, CLOSE.elsewhere, '');
    this.#stop(address);
    this.#ensure(address);
  }

  #leave(cell: ActorCell, refusal: Refusal): void {
    cell.vacate();
    this.#cells[cell.address.kind].delete(cell.address.id);
    for (const message of cell.mailbox.drain()) this.#deadLetters.take(cell.address, message, refusal);
  }

  #whenOwned(address: Address, run: () => void): void {
    const cell = this.find(address);
    if (cell === undefined) return;
    if (cell.cluster === null) run();
    else this.#ports.held.whenFresh(cell.cluster, run);
  }
}
