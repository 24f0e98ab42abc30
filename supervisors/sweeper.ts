/**
 * What time does: expiry each second, orphans, retention, and when nodes were last heard. Each runs on its own, one
 * batch after another, and never twice at once. What goes over whole tables is done by one admin at a time; what an
 * owner does for its clusters, by each.
 */
import type { Bus } from '../actors/bus.ts';
import type { Notice } from '../actors/notice.ts';
import { DatabaseUnavailable, NothingWritten } from '../actors/ports.ts';
import type { Clock } from '../actors/ports.ts';
import type { Log } from '../transport/net/log.ts';
import type { EndedBatch, SweepPort } from './sweep-port.ts';
import type { Directory } from './runtime/directory.ts';
import { HeldTask, type TaskLease } from './tasks/held-task.ts';

/** Time between two looks for expired executions, in ms. Source: docs/commands.md. */
export const EXPIRY_EVERY_MS = 1_000;

/**
 * Time between two looks for executions whose node is gone, in ms. They are rare: a command that raced with the
 * deletion of a node.
 */
export const ORPHANS_EVERY_MS = 5_000;

/** Time between two looks for executions that another admin stored for a cluster of ours, in ms. */
export const FORGOTTEN_EVERY_MS = 2_000;

/** Time between two rounds of pruning, in ms; a round that found a full batch is followed at once. */
export const PRUNE_EVERY_MS = 60_000;

/** Time between two looks for nodes whose cluster nobody owns, and for admins that are gone, in ms. */
export const OWNERLESS_EVERY_MS = 5_000;

/** Time between two looks for names that no admin has had for long, in ms. */
export const NAMES_EVERY_MS = 600_000;

/**
 * Time between two looks for nodes with random ids that are gone, in ms. Each deletes `GONE_NODES_MAX` at most: 1,200
 * in a minute.
 */
export const GONE_NODES_EVERY_MS = 5_000;

/** Nodes that are deleted in one look, each in a transaction of its own. */
const GONE_NODES_MAX = 100;

/**
 * Time between two looks which encryption key seals, and what is to be sealed anew, in ms. Source:
 * docs/decisions/key-rotation.md.
 */
export const ENCRYPTION_KEYS_EVERY_MS = 2_000;

/** A sweep that fails for so long is told of, each time that so long has passed again, in ms. */
export const FAILING_MS_MAX = 60_000;

/** How often `last_seen_at` is stored, in ms. */
export const PRESENCE_EVERY_MS = 10_000;

/** What sweeps, and who is told. */
export interface SweeperPorts {
  readonly sweeps: SweepPort;
  /** Under which whole tables are swept, and what the database grants, in ms. */
  readonly lease: TaskLease;
  readonly leaseMs: number;
  readonly leaseClockMs: () => number;
  /** As HeldTaskPorts'. */
  readonly takesTasks: () => boolean;
  readonly directory: Directory;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Whether the clock of this machine agrees with the database's as far as is known: where it does not, one of them is
   * wrong, and nothing is deleted by it (O2). The statements that delete judge by their own instant.
   */
  readonly isClockRight: () => boolean;
  /** What nodes of this admin were to be told may have found nobody: it is looked for in the rows. Returns at once. */
  readonly missed: () => void;
}

/** Sweeps that run. */
export interface RunningSweeps {
  /** Whether this admin sweeps whole tables, and not another one. */
  holds(): boolean;
  /** Resolves when the last batch is over and the lease is given back. */
  stop(): Promise<void>;
}

/** Starts all sweeps, those of whole tables once this admin has their lease. */
export function startSweeper(ports: SweeperPorts): RunningSweeps {
  const sweeper = new Sweeper(ports);
  sweeper.start();
  return sweeper;
}

/** One sweep. True: its batch was full, and there may be more. */
type Sweep = () => Promise<boolean>;

class Sweeper {
  readonly #ports: SweeperPorts;
  readonly #tables: HeldTask;
  readonly #running = new Set<Promise<void>>();
  /** Sweeps that the database did not let end lately, by the wall clock. */
  readonly #failingSinceMs = new Map<string, number>();
  #isStopped = false;
  #unsubscribe = (): void => {};

  constructor(ports: SweeperPorts) {
    const { log } = ports;
    this.#ports = ports;
    this.#tables = new HeldTask({
      ...ports,
      name: 'sweeps',
      gained: () => log.debug({}, 'this admin sweeps whole tables now'),
      lost: () => log.info({}, 'another admin sweeps whole tables now'),
    });
  }

  start(): void {
    const { sweeps, bus } = this.#ports;
    // A deletion ends what fits into its transaction. Should the rest be missed here, by a crash or an outage, the look
    // for orphans finds it.
    this.#unsubscribe = bus.subscribe((notices) => {
      for (const notice of notices)
        if (notice.type === 'node-removed')
          this.#begin('executions of a deleted node', async () => this.#ended(await sweeps.dropOf(notice.node)));
    });
    this.#every(FORGOTTEN_EVERY_MS, 'forgotten executions', () => this.#wakeForgotten());
    this.#every(GONE_NODES_EVERY_MS, 'nodes with random ids that are gone', () => this.#forgetNodes());
    this.#every(PRESENCE_EVERY_MS, 'presence', async () => {
      await sweeps.storePresence();
      return false;
    });
    this.#every(ENCRYPTION_KEYS_EVERY_MS, 'the encryption key', async () => {
      await sweeps.compareKeys();
      return false;
    });
    this.#startTables();
  }

  #startTables(): void {
    const { sweeps } = this.#ports;
    void this.#tables.start();
    this.#everyHeld(EXPIRY_EVERY_MS, 'expiry', () => this.#expire());
    this.#everyHeld(ORPHANS_EVERY_MS, 'orphans', async () => this.#ended(await sweeps.dropOrphans()));
    this.#everyHeld(OWNERLESS_EVERY_MS, 'nodes without an owner', () => this.#markOwnerless());
    this.#everyHeld(OWNERLESS_EVERY_MS, 'admins that are gone', () => this.#forgetAdmins());
    this.#everyHeld(NAMES_EVERY_MS, 'names of admins', () => this.#forgetNames());
    this.#everyHeld(ENCRYPTION_KEYS_EVERY_MS, 'sealing anew', () => sweeps.sealAnew());
    this.#everyHeld(PRUNE_EVERY_MS, 'pruning', () => this.#prune());
  }

  holds(): boolean {
    return this.#tables.holds();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#tables.halt();
    await Promise.all(this.#running);
    await this.#tables.release();
  }

  /** Where another admin holds the lease, the look is left to it; two at once take other rows each, and do no harm. */
  #everyHeld(ms: number, what: string, sweep: Sweep): void {
    this.#every(ms, what, async () => this.#tables.holds() && (await sweep()));
  }

  #every(ms: number, what: string, sweep: Sweep): void {
    if (this.#isStopped) return;
    this.#ports.clock.after(ms, () => this.#begin(what, sweep, () => this.#every(ms, what, sweep)));
  }

  /** Again at once while batches are full. */
  #begin(what: string, sweep: Sweep, then: () => void = () => {}): void {
    const round = this.#untilDone(sweep)
      .then(() => this.#succeeded(what))
      .catch((error: unknown) => this.#failed(what, error))
      .finally(() => {
        this.#running.delete(round);
        then();
      });
    this.#running.add(round);
  }

  async #untilDone(sweep: Sweep): Promise<void> {
    for (;;) if (this.#isStopped || !(await sweep())) return;
  }

  #succeeded(what: string): void {
    this.#failingSinceMs.delete(what);
  }

  /** A database that is away is told of elsewhere; a sweep that never ends in its time is seen here alone. */
  #failed(what: string, error: unknown): void {
    const { log, clock } = this.#ports;
    if (!(error instanceof DatabaseUnavailable)) return log.error({ error, what }, 'a sweep failed');
    const nowMs = clock.nowMs();
    const sinceMs = this.#failingSinceMs.get(what) ?? nowMs;
    this.#failingSinceMs.set(what, sinceMs);
    if (nowMs - sinceMs < FAILING_MS_MAX) return log.debug({ what }, 'a sweep waits for the database');
    this.#failingSinceMs.set(what, nowMs);
    log.warn({ error, what }, 'a sweep has failed for a while: what it is for is not done');
  }

  /** One whose answer is lost may have ended some all the same. */
  async #expire(): Promise<boolean> {
    const { sweeps, missed } = this.#ports;
    try {
      return this.#ended(await sweeps.expireDue());
    } catch (error) {
      if (!(error instanceof NothingWritten)) missed();
      throw error;
    }
  }

  /** The owners of nodes that are not here were told with the commit. */
  #ended({ executions, isFull }: EndedBatch): boolean {
    const { bus, directory } = this.#ports;
    const notices: Notice[] = executions.map((one) => ({
      type: 'execution-changed',
      execution: one.execution,
      command: one.command,
      node: one.node,
      clusterName: one.clusterName,
      status: one.status,
      exitCode: null,
    }));
    if (notices.length > 0) bus.publish([...notices, { type: 'events-stored' }]);
    const byNode = Map.groupBy(executions, (one) => one.node);
    for (const [id, ofNode] of byNode)
      directory.tellLocal({
        to: { kind: 'node', id },
        message: { type: 'executions-expired', executions: ofNode.map((one) => one.execution) },
      });
    return isFull;
  }

  async #wakeForgotten(): Promise<boolean> {
    const { sweeps, directory } = this.#ports;
    const { pending, cancels } = await sweeps.findForgotten();
    for (const id of pending) directory.tellLocal({ to: { kind: 'node', id }, message: { type: 'rescan' } });
    for (const { node: id, execution } of cancels)
      directory.tellLocal({
        to: { kind: 'node', id },
        message: { type: 'cancel', executions: [execution], replyTo: null },
      });
    return false;
  }

  async #markOwnerless(): Promise<boolean> {
    const { sweeps, bus } = this.#ports;
    const nodes = await sweeps.markOwnerless();
    if (nodes.length > 0)
      bus.publish([...nodes.map((node): Notice => ({ type: 'node-changed', node })), { type: 'events-stored' }]);
    return nodes.length >= sweeps.batchRows;
  }

  async #forgetAdmins(): Promise<boolean> {
    const { sweeps, isClockRight, log } = this.#ports;
    const admins = isClockRight() ? await sweeps.forgetAdmins() : 0;
    if (admins > 0) log.info({ admins }, 'admins that have been gone for long are forgotten');
    return false;
  }

  async #forgetNames(): Promise<boolean> {
    const { sweeps, isClockRight, log } = this.#ports;
    const admins = isClockRight() ? await sweeps.forgetNames() : 0;
    if (admins > 0) log.info({ admins }, 'names of admins that nobody has used for long are forgotten');
    return false;
  }

  async #forgetNodes(): Promise<boolean> {
    const { sweeps, directory, isClockRight } = this.#ports;
    if (!isClockRight()) return false;
    for (const id of await sweeps.findGone(GONE_NODES_MAX))
      directory.tellLocal({ to: { kind: 'node', id }, message: { type: 'forget' } });
    return false;
  }

  /** What cannot be pruned now holds up nothing else. */
  async #prune(): Promise<boolean> {
    const { sweeps, bus, isClockRight } = this.#ports;
    let isFull = false;
    for (const [kind, prune] of Object.entries(sweeps.prunings)) {
      if (this.#isStopped || !isClockRight()) return false;
      const what = `pruning ${kind}`;
      try {
        const pruned = await prune();
        this.#succeeded(what);
        bus.publish(pruned.notices);
        isFull ||= pruned.isFull;
      } catch (error) {
        this.#failed(what, error);
      }
    }
    return isFull;
  }
}
