/** The nodes of the fleet as they change, for all pages together: one feed, drawn once a frame at most. */
import { signal } from '@preact/signals';
import { refusalOf, type Subscription } from '../../api/client/client.ts';
import { messageOf } from '../failure.ts';
import type { NodesMessage } from '../../api/feeds/nodes-messages.ts';
import type { Live } from '../live.ts';
import { subscribeWhileSeen } from '../seen.ts';
import { NodeRows } from './rows.ts';

/** Why the feed stands still; null: it does not. `too-many`: it follows one cluster at a time here. */
export type FeedProblem = { readonly kind: 'too-many' } | { readonly kind: 'refused'; readonly message: string };

/** How often a page that nobody sees takes note of what changed, in ms: browsers draw no frames of it. */
const HIDDEN_MS = 1_000;

/**
 * So long after all nodes were too many they are asked for again where somebody wants them, in ms: each time the
 * service counts them.
 */
export const TOO_MANY_MS = 60_000;

/** Clusters that are offered where one has to be chosen: one page of a list. */
const CLUSTERS_MAX = 100;

/** The feed, and what it told. */
export class Fleet {
  readonly rows = new NodeRows();
  /** Rises whenever rows changed since the last frame: whoever draws them reads it. */
  readonly version = signal(0);
  readonly problem = signal<FeedProblem | null>(null);
  readonly #api: Live['api'];
  #subscription: Subscription | null = null;
  #cluster: string | null = null;
  /** When all nodes were too many, by `performance.now()`; null: they were not. */
  #tooManyAtMs: number | null = null;
  #isDrawing = false;

  constructor(api: Live['api']) {
    this.#api = api;
  }

  /**
   * Follows all nodes, or where these are too many the nodes of one cluster. A while later there may be fewer, and they
   * are asked for once more. `isAsked`: somebody asks for it now.
   */
  follow(cluster: string | null, isAsked = false): void {
    const sinceMs = this.#tooManyAtMs === null ? Infinity : performance.now() - this.#tooManyAtMs;
    const isNarrow = this.#tooManyAtMs !== null && (cluster !== null || (sinceMs < TOO_MANY_MS && !isAsked));
    const wanted = isNarrow ? cluster : null;
    if (this.#subscription !== null && wanted === this.#cluster) return;
    this.stop();
    this.#cluster = wanted;
    if (isNarrow && wanted === null) {
      this.problem.value = { kind: 'too-many' };
      return;
    }
    this.rows.clear();
    this.version.value += 1;
    this.problem.value = null;
    const filter = wanted === null ? {} : { cluster_name: wanted };
    this.#subscription = subscribeWhileSeen<NodesMessage>(
      (handlers, lastEventId) => this.#api.nodes.watch.subscribe({ ...filter, lastEventId }, handlers),
      {
        data: (message) => {
          if (wanted === null) this.#tooManyAtMs = null;
          this.rows.apply(message);
          this.#draw();
        },
        failed: (error) => this.#failed(error),
      },
    );
  }

  /** Follows whatever is followed already, else all nodes. */
  followAny(): void {
    if (this.#subscription === null) this.follow(this.#cluster);
  }

  /** The first clusters by name, to choose one of. */
  async clusterNames(): Promise<readonly string[]> {
    const { data } = await this.#api.list_clusters.query({ page_size: CLUSTERS_MAX, sort: 'name' });
    return data.map(({ name }) => name);
  }

  stop(): void {
    this.#subscription?.unsubscribe();
    this.#subscription = null;
  }

  #failed(error: unknown): void {
    const refusal = refusalOf(error);
    this.#subscription = null;
    // the one thing that can be wrong with a filter which this page made
    const isTooMany = refusal?.code === 'bad_request';
    if (isTooMany) this.#tooManyAtMs = performance.now();
    this.problem.value = isTooMany ? { kind: 'too-many' } : { kind: 'refused', message: messageOf(error) };
  }

  #draw(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    const drawn = (): void => {
      this.#isDrawing = false;
      this.version.value += 1;
    };
    if (document.hidden) setTimeout(drawn, HIDDEN_MS);
    else requestAnimationFrame(drawn);
  }
}
