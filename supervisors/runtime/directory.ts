/** Which actors are here: finds, starts, restarts and ends actors, and answers for those that are not here. */
import { start as startSystem } from 'nact';
import { replyToOf } from './asks.ts';
import type { Asks } from './asks.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { Crash } from './spawn.ts';
import type { Tracer } from '../../actors/tracer.ts';
import { actorFields, type ActorKind, type Address, type Addressed, type Message } from '../../actors/messages.ts';
import type { Refusal } from '../../actors/refusal.ts';
import { UNAVAILABLE } from '../../actors/refusal.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import { CLOSE } from '../../transport/protocol/close-codes.ts';
import { createFamily } from './family.ts';
import type { KindTable } from './kinds.ts';
import { ActorCell } from './actor-cell.ts';
import type { AnyKind, ActorContext } from './actor-cell.ts';
import type { HeldLeases } from '../ownership/held.ts';
import { decideRestart } from './restart-policy.ts';
import type { Committer, SessionLink, WebhookSender } from '../ports.ts';
import type { Performers } from './domain-effects.ts';

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
  /** Takes a cluster that no admin has room for, for the moment. False: it is none, or another admin was faster. */
  borrow(cluster: ClusterId): Promise<boolean>;
}

/** What happened so far, for metrics. */
export interface DirectoryCounters {
  deadLetters: number;
  crashes: number;
  escalations: number;
}

export interface Directory {
  readonly counters: Readonly<DirectoryCounters>;
  /** Gives a message to an actor, starting it from rows when it is not here. False: refused, who waits is answered. */
  tell(addressed: Addressed): boolean;
  /** As `tell`, but only to an actor that is here. */
  tellLocal(addressed: Addressed): void;
  /** Starts one whose rows are known already. */
  settle(address: Address, state: unknown): void;
  /** Ends every actor of a cluster that is not ours any more, and hangs up their agents. */
  evict(cluster: ClusterId): void;
  /**
   * Ends the actors of these webhooks, or of all, and cuts their requests: another admin delivers now, or their rows
   * changed elsewhere. Messages that wait are answered.
   */
  evictWebhooks(ids?: readonly string[]): void;
  /** Whether it is here now, or starting. */
  isLocal(address: Address): boolean;
  count(kind: ActorKind): number;
  /** Those of a kind that are here now, for inspection. */
  cells(kind: ActorKind): Iterable<ActorCell>;
  /** Parents over the actors of a kind. */
  shards(kind: ActorKind): number;
}

const NOT_FOUND: Refusal = { code: 'not_found', message: 'Resource not found' };
const ELSEWHERE: Refusal = { ...UNAVAILABLE, message: 'Another admin owns this cluster now. Try again shortly.' };

/** What makes room where there are more nodes than the admins have room for: it is not refused for the want of it. */
const isRelief = ({ type }: Message): boolean => type === 'delete' || type === 'change-cluster';

/** An empty directory. */
export function createDirectory(ports: DirectoryPorts): Directory {
  const { kinds, held, asks, clock, committer, sessions, webhookSender, domains, tracer, log } = ports;
  const cells: Readonly<Record<ActorKind, Map<string, ActorCell>>> = {
    node: new Map(),
    cluster: new Map(),
    command: new Map(),
    webhook: new Map(),
  };
  const system = startSystem();
  const families = {
    node: createFamily(system, 'node'),
    cluster: createFamily(system, 'cluster'),
    command: createFamily(system, 'command'),
    webhook: createFamily(system, 'webhook'),
  };
  const counters: DirectoryCounters = { deadLetters: 0, crashes: 0, escalations: 0 };
  const context: ActorContext = {
    committer,
    clock,
    held,
    crashed,
    vanished,
    effects: {
      asks,
      clock,
      committer,
      sessions,
      domains,
      tracer,
      log,
      tell,
      revive: (address) => void ensure(address),
      stop,
      whenOwned,
    },
  };

  function tell({ to, message }: Addressed): boolean {
    const cell = cells[to.kind].get(to.id) ?? arrive(to, message);
    if ((cell.resting && replyToOf(message as { replyTo?: never }) !== null) || !cell.mailbox.push(message)) {
      deadLetter(to, message, UNAVAILABLE);
      return false;
    }
    cell.wake();
    return true;
  }

  function tellLocal(addressed: Addressed): void {
    if (cells[addressed.to.kind].has(addressed.to.id)) tell(addressed);
  }

  function arrive(address: Address, message: Message): ActorCell {
    const initialState = message.type === 'create' ? kindOf(address).initialState(address.id) : null;
    if (initialState === null) return ensure(address);
    const cell = enter(address);
    start(cell, initialState, false);
    return cell;
  }

  function ensure(address: Address): ActorCell {
    const known = cells[address.kind].get(address.id);
    if (known !== undefined) return known;
    const cell = enter(address);
    void revive(cell);
    return cell;
  }

  function enter(address: Address): ActorCell {
    const cell = new ActorCell(address, kindOf(address), context);
    cells[address.kind].set(address.id, cell);
    return cell;
  }

  async function revive(cell: ActorCell): Promise<void> {
    cell.resting = false;
    const state = await rowsOf(cell);
    if (cells[cell.address.kind].get(cell.address.id) !== cell || cell.isRunning) return;
    if (state === UNREADABLE) return leave(cell, UNAVAILABLE);
    if (state === null) return leave(cell, NOT_FOUND);
    const cluster = kindOf(cell.address).cluster(state);
    const isWanted = cluster !== null && cell.mailbox.some(isRelief);
    if (cluster === null || held.holds(cluster)) {
      if (isWanted) void isBorrowed(cluster); // one that is borrowed is kept for longer
      return start(cell, state, true);
    }
    if (!isWanted || !(await isBorrowed(cluster))) return leave(cell, ELSEWHERE);
    if (cells[cell.address.kind].get(cell.address.id) === cell && !cell.isRunning) void revive(cell); // from its rows as they are under the lease
  }

  async function isBorrowed(cluster: ClusterId): Promise<boolean> {
    try {
      return await ports.borrow(cluster);
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable))
        log.error({ error, cluster }, 'a cluster without an owner could not be taken for the moment');
      return false;
    }
  }

  /** Null when there is no row; UNREADABLE when it cannot be read for a reason that waiting does not cure. */
  async function rowsOf(cell: ActorCell): Promise<unknown> {
    for (;;) {
      try {
        return await kindOf(cell.address).load(cell.address.id);
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) {
          log.error({ error, ...actorFields(cell.address) }, 'an actor could not be read from its rows');
          return UNREADABLE;
        }
        await new Promise<void>((resolve) => {
          clock.after(READ_AGAIN_MS, resolve);
        });
        await committer.ready();
      }
    }
  }

  function start(cell: ActorCell, state: unknown, again: boolean): void {
    cell.start(families[cell.address.kind].take(cell.address.id), state);
    if (again) cell.perform(cell.behaviour.recoveryEffects(state, clock.nowMs()));
  }

  function crashed(cell: ActorCell, crash: Crash): void {
    cell.vacate();
    counters.crashes += 1;
    cell.crashes += 1;
    cell.lastCrash = {
      atMs: clock.nowMs(),
      messageType: crash.messageType,
      error: crash.cause instanceof Error ? crash.cause.name : typeof crash.cause,
    };
    const decision = decideRestart(cell.crashesMs, clock.nowMs());
    cell.crashesMs = decision.crashesMs;
    cell.resting = decision.escalated;
    if (decision.escalated) counters.escalations += 1;
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
    clock.after(decision.afterMs, () => void revive(cell));
  }

  function stop(address: Address): void {
    const cell = cells[address.kind].get(address.id);
    if (cell === undefined) return;
    const left = cell.mailbox.drain();
    cell.vacate();
    cells[address.kind].delete(address.id);
    // Someone spoke to it while it ended: it starts again from its rows, or they are told that there are none.
    for (const message of left) tell({ to: address, message } as Addressed);
  }

  /**
   * A create whose commit was in doubt may still come through, when the server works off what it had: its nodes are
   * told then.
   */
  function vanished({ address }: ActorCell): void {
    if (address.kind === 'webhook') webhookSender.cut(address.id); // deleted, though nobody could be told (V2)
    stop(address);
    if (address.kind === 'command')
      clock.after(
        SECOND_LOOK_MS,
        () => void tell({ to: address, message: { type: 'executions-changed', changes: [] } }),
      );
  }

  function leave(cell: ActorCell, refusal: Refusal): void {
    cell.vacate();
    cells[cell.address.kind].delete(cell.address.id);
    for (const message of cell.mailbox.drain()) deadLetter(cell.address, message, refusal);
  }

  function deadLetter(to: Address, message: Message, refusal: Refusal): void {
    counters.deadLetters += 1;
    const replyTo = replyToOf(message as { replyTo?: never });
    if (replyTo !== null) asks.answer(replyTo, { ok: false, refusal });
    // An agent that nobody welcomes: its node was deleted behind the gate (E5), or another admin owns it now.
    if (message.type === 'agent-connected')
      sessions.hangUp(message.session, refusal === NOT_FOUND ? CLOSE.revoked : CLOSE.elsewhere, '');
    log.debug({ ...actorFields(to), message_type: message.type, code: refusal.code }, 'a message found no actor');
  }

  function whenOwned(address: Address, run: () => void): void {
    const cell = cells[address.kind].get(address.id);
    if (cell === undefined) return;
    if (cell.cluster === null) run();
    else held.whenFresh(cell.cluster, run);
  }

  function kindOf(address: Address): AnyKind {
    return kinds[address.kind];
  }

  return {
    counters,
    tell,
    tellLocal,
    settle(address, state) {
      if (cells[address.kind].has(address.id)) return;
      start(enter(address), state, true);
    },
    evict(cluster) {
      for (const kind of ['node', 'cluster'] as const) {
        for (const cell of cells[kind].values()) {
          if (cell.cluster !== cluster && cell.address.id !== cluster) continue;
          if (kind === 'node') sessions.hangUpNode(cell.address.id as never, CLOSE.elsewhere, '');
          leave(cell, ELSEWHERE);
        }
      }
    },
    evictWebhooks(ids) {
      for (const cell of ids === undefined
        ? cells.webhook.values()
        : ids.flatMap((id) => cells.webhook.get(id) ?? [])) {
        webhookSender.cut(cell.address.id);
        leave(cell, { ...UNAVAILABLE, message: 'Another admin delivers webhooks now. Try again shortly.' });
      }
    },
    isLocal: ({ kind, id }) => cells[kind].has(id),
    count: (kind) => cells[kind].size,
    cells: (kind) => cells[kind].values(),
    shards: (kind) => families[kind].shards(),
  };
}

/** Wait between two tries to read an actor's rows while the database is away, in ms. */
const READ_AGAIN_MS = 250;

/**
 * When a create that was in doubt is looked for again, in ms: the server has ended by then what it had begun (its
 * timeouts end at 3 s).
 */
const SECOND_LOOK_MS = 5_000;

/** Rows that are there, and make no state: a bug. */
const UNREADABLE = Symbol('unreadable');
