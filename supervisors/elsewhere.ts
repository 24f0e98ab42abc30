/**
 * Executions on nodes of other admins: what becomes of them is stored there and told there. While somebody here waits
 * for them, their rows are read.
 */
import type { OpenAt, CommandState } from '../actors/command/state.ts';
import type { Bus } from '../actors/bus.ts';
import type { Notice } from '../actors/notice.ts';
import { DatabaseUnavailable } from '../actors/ports.ts';
import type { Clock } from '../actors/ports.ts';
import type { Log } from '../transport/net/log.ts';
import type { ExecutionStatus } from '../actors/resources/command.ts';
import type { CommandId, ExecutionId, NodeId } from '../transport/protocol/ids.ts';
import type { Directory } from './runtime/directory.ts';

/** Time between two readings, in ms: how late an admin knows what happened at another. */
export const ELSEWHERE_EVERY_MS = 1_000;

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

/** What its row says now, where that differs. `status` null: the row is gone, with its command. */
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
  /** Open executions that live feeds show. */
  watched(): Iterable<AwaitedExecution>;
  readonly directory: Pick<Directory, 'cells' | 'isLocal' | 'tellLocal'>;
  readonly bus: Bus;
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
  /**
   * On nodes of other admins in the last walk, and in this one. One that was there is read once more when its node
   * lives here: what its owner stored before that was told to nobody here.
   */
  #before = new Set<ExecutionId>();
  #now = new Set<ExecutionId>();

  constructor(ports: ElsewherePorts) {
    this.#ports = ports;
    this.#walk = this.#awaited();
  }

  start(): void {
    if (this.#isStopped) return;
    this.#cancel = this.#ports.clock.after(ELSEWHERE_EVERY_MS, () => {
      this.#round = this.#read()
        .catch((error: unknown) => this.#failed(error))
        .then(() => this.start());
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
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
    const all = this.#gather();
    for (let at = 0; at < all.length; at += AWAITED_A_STATEMENT_MAX) {
      if (this.#isStopped) return;
      this.#tell(await this.#ports.changed(all.slice(at, at + AWAITED_A_STATEMENT_MAX)));
    }
  }

  /** The next executions to read; goes on where the round before had to stop. */
  #gather(): readonly AwaitedExecution[] {
    const found = new Map<ExecutionId, AwaitedExecution>();
    for (let looked = 0; looked < AWAITED_A_ROUND_MAX; looked += 1) {
      const next = this.#walk.next();
      if (next.done === true) {
        this.#walk = this.#awaited();
        [this.#before, this.#now] = [this.#now, new Set()];
        break;
      }
      if (this.#isElsewhere(next.value)) found.set(next.value.execution, next.value);
    }
    return [...found.values()];
  }

  #isElsewhere({ execution, node }: AwaitedExecution): boolean {
    if (this.#ports.directory.isLocal({ kind: 'node', id: node })) return this.#before.has(execution);
    this.#now.add(execution);
    return true;
  }

  #tell(read: readonly ReadExecution[]): void {
    const notices: Notice[] = [];
    for (const { status, ...one } of read) {
      if (status !== null) {
        notices.push({ type: 'execution-changed', ...one, status, again: true });
        continue;
      }
      notices.push({ type: 'command-removed', command: one.command });
      this.#ports.directory.tellLocal({
        to: { kind: 'command', id: one.command },
        message: {
          type: 'executions-changed',
          changes: [{ execution: one.execution, node: one.node, status: 'dropped', exitCode: null }],
        },
      });
    }
    this.#ports.bus.publish(notices);
  }

  #failed(error: unknown): void {
    const { log } = this.#ports;
    if (error instanceof DatabaseUnavailable) log.debug({}, 'executions of other admins cannot be read now');
    else log.error({ error }, 'reading executions of other admins failed: trying again');
  }
}
