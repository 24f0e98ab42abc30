/**
 * Work that other admins stored for nodes of this one: they say so at once, and name commands. Which nodes are meant
 * the rows tell; each then looks for what it was not told of, since what ended meanwhile must not run again (C3).
 */
import { DatabaseUnavailable, isAway, type Clock } from '../actors/ports.ts';
import type { Log } from '../transport/net/log.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../transport/protocol/ids.ts';
import type { DueUpdate } from '../actors/node/updates-state.ts';
import type { WakeUps } from './ports.ts';
import type { Directory } from './runtime/directory.ts';

/**
 * Commands that are remembered until their rows are read. Beyond it everything is looked for, as if they had been
 * missed.
 */
export const HEARD_COMMANDS_MAX = 10_000;

/**
 * Wait before the rows are read again that could not be read, in ms. It doubles while the server is there and does not
 * read them in time, which costs it each time, up to less than the 3 s within which service is back (L3).
 */
const READ_AGAIN_MS_MIN = 250;
const READ_AGAIN_MS_MAX = 2_000;

/** An execution that its node is to be told of. */
interface NamedExecution {
  readonly node: NodeId;
  readonly execution: ExecutionId;
}

/** A node whose turn has come in a self-update request. */
type DueNode = DueUpdate & { readonly node: NodeId };

/** What the rows tell of it. Each rejects with DatabaseUnavailable. */
export interface WokenRows {
  /** Nodes of this admin whose turn has come in these self-update requests; null: in any. */
  dueIn(requests: readonly string[] | null): Promise<readonly DueNode[]>;
  /** Nodes of this admin on which executions of these commands are pending. */
  pendingOf(commands: readonly CommandId[]): Promise<readonly NodeId[]>;
  /** Executions of these commands on nodes of this admin that are to be cancelled. */
  cancelsOf(commands: readonly CommandId[]): Promise<readonly NamedExecution[]>;
  /** All that may have been missed. */
  findMissed(): Promise<{
    readonly pending: readonly NodeId[];
    readonly cancels: readonly NamedExecution[];
    readonly expired: readonly NamedExecution[];
  }>;
}

/** Who is told. */
export interface WakeUpPorts {
  readonly rows: WokenRows;
  readonly directory: Pick<Directory, 'tell' | 'tellLocal'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Nothing was heard at first. What comes while rows are read is read together afterwards. */
export class HeardWakeUps implements WakeUps {
  readonly #ports: WakeUpPorts;
  readonly #heard = { run: new Set<CommandId>(), cancel: new Set<CommandId>(), due: new Set<string>() };
  #isMissed = false;
  #isStopped = false;
  #isReading = false;
  #reading: Promise<void> = Promise.resolve();
  /** Ends the wait for the next try. */
  #hurry: () => void = () => {};

  constructor(ports: WakeUpPorts) {
    this.#ports = ports;
  }

  heard(what: 'run' | 'cancel', commands: readonly CommandId[]): void {
    for (const command of commands) this.#heard[what].add(command);
    if (this.#heard[what].size > HEARD_COMMANDS_MAX) this.#isMissed = true;
    this.#go();
  }

  due(requests: readonly string[]): void {
    for (const request of requests) this.#heard.due.add(request);
    if (this.#heard.due.size > HEARD_COMMANDS_MAX) this.#isMissed = true;
    this.#go();
  }

  /** It is started from its rows; its cluster has one more. */
  moved(node: NodeId, cluster: ClusterId): void {
    const { directory } = this.#ports;
    directory.tell({ to: { kind: 'node', id: node }, message: { type: 'rescan' } }, cluster);
    directory.tellLocal({ to: { kind: 'cluster', id: cluster }, message: { type: 'count-changed', by: 1 } });
  }

  missed(): void {
    this.#isMissed = true;
    this.#go();
  }

  /** Resolves when nothing is read any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#hurry();
    await this.#reading;
  }

  #go(): void {
    if (!this.#isReading) this.#reading = this.#readAll();
  }

  async #readAll(): Promise<void> {
    const { run, cancel, due } = this.#heard;
    this.#isReading = true;
    let waitMs = READ_AGAIN_MS_MIN;
    while (!this.#isStopped && (this.#isMissed || run.size + cancel.size + due.size > 0)) {
      try {
        await this.#read();
        waitMs = READ_AGAIN_MS_MIN;
      } catch (error) {
        this.#isMissed = true; // what had been heard is among what may have been missed
        this.#failed(error);
        if (isAway(error)) waitMs = READ_AGAIN_MS_MIN;
        await this.#pause(waitMs);
        waitMs = Math.min(READ_AGAIN_MS_MAX, waitMs * 2);
      }
    }
    this.#isReading = false;
  }

  async #read(): Promise<void> {
    const { rows } = this.#ports;
    const [runs, cancels, due] = [[...this.#heard.run], [...this.#heard.cancel], [...this.#heard.due]];
    for (const heard of Object.values(this.#heard)) heard.clear();
    if (this.#isMissed) {
      this.#isMissed = false;
      const found = await rows.findMissed();
      this.#tellExpired(found.expired);
      this.#tell(found.pending, found.cancels);
      this.#tellDue(await rows.dueIn(null));
      return;
    }
    if (due.length > 0) this.#tellDue(await rows.dueIn(due));
    const pending = runs.length === 0 ? [] : await rows.pendingOf(runs);
    this.#tell(pending, cancels.length === 0 ? [] : await rows.cancelsOf(cancels));
  }

  #tell(pending: readonly NodeId[], cancels: readonly NamedExecution[]): void {
    const { directory } = this.#ports;
    for (const id of pending) directory.tellLocal({ to: { kind: 'node', id }, message: { type: 'rescan' } });
    for (const [id, ofNode] of Map.groupBy(cancels, ({ node }) => node))
      directory.tellLocal({
        to: { kind: 'node', id },
        message: { type: 'cancel', executions: ofNode.map(({ execution }) => execution), replyTo: null },
      });
  }

  #tellExpired(expired: readonly NamedExecution[]): void {
    for (const [id, ofNode] of Map.groupBy(expired, ({ node }) => node))
      this.#ports.directory.tellLocal({
        to: { kind: 'node', id },
        message: { type: 'executions-expired', executions: ofNode.map(({ execution }) => execution) },
      });
  }

  #tellDue(nodes: readonly DueNode[]): void {
    for (const [id, turns] of Map.groupBy(nodes, ({ node }) => node))
      this.#ports.directory.tellLocal({
        to: { kind: 'node', id },
        message: { type: 'update', due: turns.map(({ node: _node, ...turn }) => turn) },
      });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancelWait = this.#ports.clock.after(ms, resolve);
      this.#hurry = () => {
        cancelWait();
        resolve();
      };
    });
  }

  #failed(error: unknown): void {
    const { log } = this.#ports;
    if (error instanceof DatabaseUnavailable) log.debug({}, 'work of other admins waits for the database');
    else log.error({ error }, 'work of other admins could not be read: trying again');
  }
}
