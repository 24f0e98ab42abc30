/** One command as it goes on: its executions, and their outputs in groups. Drawn a few times a second at most. */
import { signal } from '@preact/signals';
import { refusalOf, type Subscription } from '../../api/client/client.ts';
import { messageOf } from '../failure.ts';
import type { CommandMessage } from '../../api/feeds/commands.ts';
import type { Api } from '../../api/client/api.ts';
import { subscribeWhileSeen } from '../seen.ts';
import { ExecutionRows } from './execution-rows.ts';
import { OutputGroups } from './grouping.ts';
import { knownOf, OutputQueue } from './output-queue.ts';

/**
 * Least time between two drawings of what changed, in ms: what people can follow, and 10,000 groups are sorted in each.
 */
const DRAWN_EVERY_MS = 100;

/** Why it cannot be followed; null: it can. */
export type WatchProblem = { readonly code: string; readonly message: string };

/** A command, followed until it is stopped. */
export class CommandWatch {
  readonly rows = new ExecutionRows();
  readonly groups = new OutputGroups();
  /** Rises whenever something changed since the last drawing. */
  readonly version = signal(0);
  readonly problem = signal<WatchProblem | null>(null);
  readonly #api: Api;
  readonly #id: string;
  readonly #queue: OutputQueue;
  #subscription: Subscription | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #drawnAtMs = Number.NEGATIVE_INFINITY;

  constructor(api: Api, id: string) {
    this.#api = api;
    this.#id = id;
    this.#queue = new OutputQueue({
      page: async (nodes) => {
        const { data } = await api.list_command_executions.query({
          command_id__in: [id],
          node_id__in: [...nodes],
          page_size: 100,
        });
        return data;
      },
      single: (execution) => api.get_command_execution.query({ id: execution }),
      known: (execution, output) => {
        this.groups.say(execution, output);
        this.#draw();
      },
    });
  }

  /** From the beginning, also where it could not be followed before. */
  start(): void {
    this.problem.value = null;
    this.#subscription?.unsubscribe();
    this.#subscription = subscribeWhileSeen<CommandMessage>(
      (handlers, lastEventId) => this.#api.commands.watch.subscribe({ id: this.#id, lastEventId }, handlers),
      {
        data: (message) => this.#heard(message),
        failed: (error) => {
          const refusal = refusalOf(error);
          this.problem.value = { code: refusal?.code ?? '', message: messageOf(error) };
        },
      },
    );
  }

  /** An output that is only had because somebody wants to see it. */
  async load(execution: string): Promise<void> {
    const one = await this.#api.get_command_execution.query({ id: execution });
    this.groups.say(execution, knownOf(one));
    this.#draw();
  }

  /** For good. */
  stop(): void {
    this.#subscription?.unsubscribe();
    this.#queue.stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #heard(message: CommandMessage): void {
    const { changed, gone } = this.rows.apply(message);
    for (const execution of changed) if (this.groups.put(execution)) this.#queue.want(execution);
    for (const id of gone) this.groups.remove(id);
    this.#draw();
  }

  #draw(): void {
    if (this.#timer !== null) return;
    const waitMs = Math.max(0, this.#drawnAtMs + DRAWN_EVERY_MS - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#drawnAtMs = performance.now();
      this.version.value += 1;
    }, waitMs);
  }
}
