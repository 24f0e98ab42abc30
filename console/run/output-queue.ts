/** Outputs of executions that ended, asked for some at a time: a page of a list each, and large ones by themselves. */
import type { ExecutionResource } from '../../actors/resources/command.ts';
import type { KnownOutput } from './grouping.ts';

/** Executions of one question: the largest page of a list. */
export const PAGE_EXECUTIONS = 100;

/** Questions under way at a time. */
export const QUESTIONS_MAX = 3;

/** Outputs that no page had room for and that are asked for by themselves; of more somebody has to want them. */
export const SINGLES_MAX = 32;

/** What ended within this time is asked for together, in ms. */
const GATHER_MS = 25;

/** Wait after a question that failed, in ms: doubled each time, up to the second. */
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 10_000;

/** An execution whose output is wanted. */
export interface Wanted {
  readonly id: string;
  readonly node_id: string;
}

/** What of an execution is looked at. */
export type Answered = Pick<ExecutionResource, 'id' | 'output' | 'output_truncated' | 'output_withheld'>;

/** Who is asked, and who is told. */
export interface OutputQueueKit {
  /** The executions of the command on these nodes. */
  readonly page: (nodes: readonly string[]) => Promise<readonly Answered[]>;
  readonly single: (id: string) => Promise<Answered>;
  readonly known: (id: string, output: KnownOutput) => void;
}

/** What is still to be asked, in the order in which it ended. */
export class OutputQueue {
  readonly #kit: OutputQueueKit;
  readonly #waiting = new Map<string, Wanted>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #underWay = 0;
  #singles = 0;
  #retryMs = RETRY_MS_MIN;
  #isStopped = false;

  constructor(kit: OutputQueueKit) {
    this.#kit = kit;
  }

  want(execution: Wanted): void {
    if (this.#waiting.size === 0) this.#later(GATHER_MS);
    this.#waiting.set(execution.id, execution);
  }

  /** Nothing is asked, and nobody told, from now on. */
  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#waiting.clear();
  }

  #later(ms: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#pump();
    }, ms);
    this.#timers.add(timer);
  }

  #pump(): void {
    while (!this.#isStopped && this.#underWay < QUESTIONS_MAX && this.#waiting.size > 0) {
      const some: Wanted[] = [];
      for (const one of this.#waiting.values()) if (some.push(one) === PAGE_EXECUTIONS) break;
      for (const { id } of some) this.#waiting.delete(id);
      this.#underWay += 1;
      void this.#ask(some);
    }
  }

  async #ask(some: readonly Wanted[]): Promise<void> {
    try {
      const answered = await this.#kit.page(some.map(({ node_id: node }) => node));
      await this.#take(some, new Map(answered.map((one) => [one.id, one])));
      this.#retryMs = RETRY_MS_MIN;
      this.#underWay -= 1;
      this.#pump();
    } catch {
      // the connection is lost, which the page says, or the admin has no time: later
      this.#underWay -= 1;
      if (this.#isStopped) return;
      for (const one of some) this.#waiting.set(one.id, one);
      this.#later(this.#retryMs);
      this.#retryMs = Math.min(RETRY_MS_MAX, this.#retryMs * 2);
    }
  }

  async #take(some: readonly Wanted[], answered: ReadonlyMap<string, Answered>): Promise<void> {
    for (const { id } of some) {
      const one = answered.get(id);
      const isLarge = one?.output_withheld === true;
      if (isLarge && this.#singles >= SINGLES_MAX) this.#tell(id, 'large');
      else if (isLarge) {
        this.#singles += 1;
        this.#tell(id, knownOf(await this.#kit.single(id)));
      } else this.#tell(id, knownOf(one)); // one that is not there was deleted meanwhile
    }
  }

  #tell(id: string, output: KnownOutput): void {
    if (!this.#isStopped) this.#kit.known(id, output);
  }
}

/** An output as groups want it. */
export function knownOf(one: Answered | undefined): Exclude<KnownOutput, 'large'> {
  return { text: one?.output ?? '', isTruncated: one?.output_truncated ?? false };
}
