/**
 * Executions on nodes of other admins: what becomes of them is stored there, and told here while somebody waits for it.
 * Their rows are read where it may not have been told.
 */
import type { OpenAt, CommandState } from '../actors/command/state.ts';
import type { Bus } from '../actors/bus.ts';
import type { NewsSource } from '../actors/news.ts';
import type { Notice } from '../actors/notice.ts';
import { DatabaseUnavailable } from '../actors/ports.ts';
import type { Clock } from '../actors/ports.ts';
import type { Log } from '../transport/net/log.ts';
import type { ExecutionStatus } from '../actors/resources/command.ts';
import type { CommandId, ExecutionId, NodeId } from '../transport/protocol/ids.ts';
import type { Directory } from './runtime/directory.ts';

/** Time between two looks at who waits for what, in ms. What may not have been told is read then. */
export const ELSEWHERE_EVERY_MS = 1_000;

/** So long after news were left out it is looked earlier, in ms: what else was left out then is read with it. */
export const ELSEWHERE_SOON_MS = 50;

/** What is told is read all the same this often, in ms. */
export const ELSEWHERE_NET_MS = 30_000;

/**
 * Executions that are looked at in one round, and those of one statement. What is beyond has its turn in the next
 * round.
 */
export const AWAITED_A_ROUND_MAX = 50_000;
export const AWAITED_A_STATEMENT_MAX = 5_000;

/** An open execution that somebody here waits for, as it was known last. */
export interface AwaitedExecution extends OpenAt {
  readonly execution: ExecutionId;
  readonly command: CommandId;
}

/** What its row says now, where that differs. `status` null: the row is gone, alone or with its command. */
export interface ReadExecution {
  readonly execution: ExecutionId;
  readonly command: CommandId;
  readonly node: NodeId;
  readonly clusterName: string;
  readonly status: ExecutionStatus | null;
  readonly exitCode: number | null;
}

/** What is looked at, and who is told. */
export interface ElsewherePorts {
  /** Those of the executions whose rows say something else, in one statement. */
  changed(awaited: readonly AwaitedExecution[]): Promise<readonly ReadExecution[]>;
  /** Those of the commands that are stored. */
  existing(commands: readonly CommandId[]): Promise<ReadonlySet<CommandId>>;
  /** Open executions that live feeds show. */
  watched(): Iterable<AwaitedExecution>;
  readonly directory: Pick<Directory, 'cells' | 'isLocal' | 'tellLocal'>;
  /** Where it is told, and where it is heard that something was left out. */
  readonly news: Bus;
  readonly source: NewsSource;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts it. The returned function stops it and resolves when the last reading is over. */
export function watchElsewhere(ports: ElsewherePorts): () => Promise<void> {
  const watch = new ElsewhereWatch(ports);
  watch.start();
  return () => watch.stop();
}

class ElsewhereWatch {
  readonly #ports: ElsewherePorts;
  #isStopped = false;
  #cancel = (): void => {};
  #round: Promise<void> = Promise.resolve();
  #walk: Generator<AwaitedExecution>;
  /** A walk begins: what one round finds is all that there is, if it ends. */
  #isFresh = true;
  /**
   * On nodes of other admins in the last walk, and in this one, with the coverage under which each was read. One that
   * was there is read once more when its node lives here: what its owner stored last may not have been told.
   */
  #before = new Map<ExecutionId, number | null>();
  #now = new Map<ExecutionId, number | null>();
  #netAtMs = 0;
  #isReading = false;
  /** The next round is soon, and not when it is due. */
  #isSoon = false;
  #unsubscribe = (): void => {};

  constructor(ports: ElsewherePorts) {
    this.#ports = ports;
    this.#walk = this.#awaited();
  }

  start(): void {
    this.#unsubscribe = this.#ports.news.subscribe((notices) => {
      if (notices.some((notice) => notice.type === 'missed' && notice.what === 'commands')) this.#soon();
    });
    this.#later(ELSEWHERE_EVERY_MS);
  }

  #later(ms: number): void {
    if (this.#isStopped) return;
    this.#isSoon = ms === ELSEWHERE_SOON_MS;
    this.#cancel = this.#ports.clock.after(ms, () => {
      this.#isReading = true;
      this.#isSoon = false;
      this.#round = this.#read()
        .catch((error: unknown) => this.#failed(error))
        .then(() => this.#next());
    });
  }

  #next(): void {
    this.#isReading = false;
    this.#later(this.#isSoon ? ELSEWHERE_SOON_MS : ELSEWHERE_EVERY_MS);
  }

  #soon(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    if (this.#isReading) return; // the next round is soon
    this.#cancel();
    this.#later(ELSEWHERE_SOON_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#cancel();
    await this.#round;
  }

  *#awaited(): Generator<AwaitedExecution> {
    for (const { address, state } of this.#ports.directory.cells('command')) {
      for (const [execution, at] of (state as CommandState | undefined)?.open ?? [])
        yield { ...at, execution, command: address.id as CommandId };
    }
    yield* this.#ports.watched();
  }

  async #read(): Promise<void> {
    const nowMs = this.#ports.clock.nowMs();
    if (nowMs - this.#netAtMs >= ELSEWHERE_NET_MS) {
      this.#netAtMs = nowMs;
      this.#forget();
    }
    const all = this.#gather();
    try {
      for (let at = 0; at < all.length; at += AWAITED_A_STATEMENT_MAX) {
        if (this.#isStopped) return;
        await this.#tell(await this.#ports.changed(all.slice(at, at + AWAITED_A_STATEMENT_MAX)));
      }
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  /** All are read again. */
  #forget(): void {
    for (const read of [this.#before, this.#now]) for (const id of read.keys()) read.set(id, null);
  }

  /** The next executions to read; goes on where the round before had to stop. */
  #gather(): readonly AwaitedExecution[] {
    const found = new Map<ExecutionId, AwaitedExecution>();
    const commands = new Set<CommandId>();
    const isFresh = this.#isFresh;
    this.#isFresh = false;
    for (let looked = 0; looked < AWAITED_A_ROUND_MAX; looked += 1) {
      const next = this.#walk.next();
      if (next.done === true) {
        this.#walk = this.#awaited();
        [this.#before, this.#now] = [this.#now, new Map()];
        this.#isFresh = true;
        break;
      }
      const { execution, command, node } = next.value;
      const isHere = this.#ports.directory.isLocal({ kind: 'node', id: node });
      if (!isHere) commands.add(command);
      if (isHere ? this.#before.has(execution) : this.#isUntold(execution, command)) found.set(execution, next.value);
    }
    this.#ports.source.want('actors', { nodes: false, commands: isFresh && this.#isFresh ? commands : 'all' });
    return [...found.values()];
  }

  /** What is told from before its last reading on need not be read. */
  #isUntold(execution: ExecutionId, command: CommandId): boolean {
    const coverage = this.#ports.source.coverage(command);
    const known = this.#now.get(execution) ?? this.#before.get(execution) ?? null;
    this.#now.set(execution, coverage);
    return coverage === null || coverage !== known;
  }

  async #tell(read: readonly ReadExecution[]): Promise<void> {
    const removed = Map.groupBy(
      read.filter(({ status }) => status === null),
      ({ command }) => command,
    );
    const there = removed.size === 0 ? new Set<CommandId>() : await this.#ports.existing([...removed.keys()]);
    const notices: Notice[] = read.flatMap(({ status, ...one }) =>
      status === null ? [] : [{ type: 'execution-changed', ...one, status, again: true }],
    );
    for (const [command, ofCommand] of removed) {
      const executions = ofCommand.map(({ execution }) => execution);
      if (!there.has(command)) notices.push({ type: 'command-removed', command });
      else for (const execution of executions) notices.push({ type: 'execution-removed', execution, command });
      this.#ports.directory.tellLocal({
        to: { kind: 'command', id: command },
        message: { type: 'executions-removed', executions },
      });
    }
    this.#ports.news.publish(notices);
  }

  #failed(error: unknown): void {
    const { log } = this.#ports;
    if (error instanceof DatabaseUnavailable) log.debug({}, 'executions of other admins cannot be read now');
    else log.error({ error }, 'reading executions of other admins failed: trying again');
  }
}
