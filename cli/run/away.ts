/** Whether a run waits only for machines that are away: that it never reached, or that went while it ran. */
import type { Api } from '../service/client.ts';
import type { CommandState } from './watch.ts';

/** Quiet time before it is asked, and between two times, in ms: what an agent that is there needs to acknowledge. */
const ASKED_EVERY_MS = 1_000;

/** The same while something runs, in ms: a machine whose connection was cut for a moment comes back with its output. */
const ASKED_AT_WORK_EVERY_MS = 10_000;

/** Ids in one question: a URL of 8 KB, which is what most proxies before a service take. */
const IDS_MAX = 100;

/** Questions without an answer, one after the other, before somebody is told. */
const FAILURES_MAX = 5;

/** Whom it tells. */
export interface AwayListener {
  /** All that is waited for is away. Called once. */
  onlyAway(): void;
  /** It cannot be seen, again and again; it is asked on. Called once. */
  unknown(error: unknown): void;
}

/** Looks, whenever there is no news, whether any of the nodes that are waited for is connected. */
export class AwayWatch {
  readonly #api: Api;
  readonly #listener: AwayListener;
  #timer: NodeJS.Timeout | null = null;
  #failures = 0;
  #isEnded = false;

  constructor(api: Api, listener: AwayListener) {
    this.#api = api;
    this.#listener = listener;
  }

  /** After each news of the command. */
  heard(state: CommandState): void {
    this.#stop();
    if (openNodesOf(state).length > 0 && !this.#isEnded) this.#later(state);
  }

  end(): void {
    this.#isEnded = true;
    this.#stop();
  }

  #later(state: CommandState): void {
    const afterMs = state.summary.sent > 0 ? ASKED_AT_WORK_EVERY_MS : ASKED_EVERY_MS;
    const timer = setTimeout(() => void this.#look(state, timer), afterMs);
    this.#timer = timer;
  }

  async #look(state: CommandState, timer: NodeJS.Timeout): Promise<void> {
    const isAny = await this.#anyConnected(state);
    if (this.#timer !== timer || this.#isEnded) return; // there was news meanwhile
    if (isAny) this.#later(state);
    else this.#listener.onlyAway();
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  async #anyConnected(state: CommandState): Promise<boolean> {
    const nodes = openNodesOf(state);
    try {
      for (let from = 0; from < nodes.length; from += IDS_MAX) {
        const { pagination } = await this.#api.list_nodes.query({
          node_id__in: nodes.slice(from, from + IDS_MAX),
          status__in: ['healthy', 'unhealthy'],
          page_size: 1,
        });
        this.#failures = 0;
        if (pagination.total_count > 0) return true;
      }
      return false;
    } catch (error) {
      this.#failures += 1;
      if (this.#failures === FAILURES_MAX && !this.#isEnded) this.#listener.unknown(error);
      return true; // who cannot be asked may be there
    }
  }
}

function openNodesOf({ executions }: CommandState): readonly string[] {
  return [...executions.values()].flatMap(({ status, node_id: id }) =>
    status === 'pending' || status === 'sent' ? [id] : [],
  );
}
