/** Whether a run waits only for machines that are away. */
import type { Api } from '../client.ts';
import type { CommandState } from './watch.ts';

/** Quiet time before it is asked, and between two times, in ms: what an agent that is there needs to acknowledge. */
const ASKED_EVERY_MS = 1_000;

/** Ids in one question. Source: docs/api.md, Lists: values of one filter. */
const IDS_MAX = 500;

/** Looks, whenever nothing runs and something waits, whether any of the nodes that are waited for is connected. */
export class AwayWatch {
  readonly #api: Api;
  readonly #onlyAway: () => void;
  #timer: NodeJS.Timeout | null = null;
  #isEnded = false;

  /** `onlyAway` is called once, when all that is waited for is away. */
  constructor(api: Api, onlyAway: () => void) {
    this.#api = api;
    this.#onlyAway = onlyAway;
  }

  /** After each news of the command. */
  heard(state: CommandState): void {
    this.#stop();
    if (state.summary.pending > 0 && state.summary.sent === 0 && !this.#isEnded) this.#later(state);
  }

  end(): void {
    this.#isEnded = true;
    this.#stop();
  }

  #later(state: CommandState): void {
    const timer = setTimeout(() => void this.#look(state, timer), ASKED_EVERY_MS);
    this.#timer = timer;
  }

  async #look(state: CommandState, timer: NodeJS.Timeout): Promise<void> {
    const isAny = await this.#anyConnected(state);
    if (this.#timer !== timer || this.#isEnded) return; // there was news meanwhile
    if (isAny) this.#later(state);
    else this.#onlyAway();
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  async #anyConnected({ executions }: CommandState): Promise<boolean> {
    const nodes = [...executions.values()].flatMap(({ status, node_id: id }) => (status === 'pending' ? [id] : []));
    try {
      for (let from = 0; from < nodes.length; from += IDS_MAX) {
        const { pagination } = await this.#api.list_nodes.query({
          node_id__in: nodes.slice(from, from + IDS_MAX),
          status__in: ['healthy', 'unhealthy'],
          page_size: 1,
        });
        if (pagination.total_count > 0) return true;
      }
      return false;
    } catch {
      return true; // who cannot be asked may be there
    }
  }
}
