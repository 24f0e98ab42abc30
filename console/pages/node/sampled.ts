/** Asks a node for its metrics as long as its page is seen. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { refusalOf } from '../../../api/client/client.ts';
import type { Live } from '../../live.ts';
import { problemOf } from '../../failure.ts';
import { countersOf, GAP_S, pointOf, SAMPLE_MS, withPoint, type Counters, type Point } from './measured.ts';
import { pastOf, withPast } from './past.ts';

/** What is known. `isForbidden`: this session does not reach metrics at all. */
export interface Sampled {
  readonly points: readonly Point[];
  /** Whether what was before is among them; else why not, or null while it is not known yet. */
  readonly past: true | string | null;
  readonly failure: string | null;
  readonly isForbidden: boolean;
}

const NOTHING: Sampled = { points: [], past: null, failure: null, isForbidden: false };

/**
 * Begins with what its agent kept, if it keeps anything. That is asked for again once the agent is heard again, or the
 * page seen: it fills what was missed. A node that does not answer leaves a gap.
 */
export function useSamples(live: Live, id: string): Signal<Sampled> {
  const sampled = useSignal<Sampled>(NOTHING);
  useEffect(() => {
    const sampler = new Sampler(live, id, sampled);
    void sampler.sample();
    const timer = setInterval(() => void sampler.sample(), SAMPLE_MS);
    return () => {
      sampler.close();
      clearInterval(timer);
    };
  }, [id, live]);
  return sampled;
}

class Sampler {
  readonly #live: Live;
  readonly #id: string;
  readonly #sampled: Signal<Sampled>;
  #isClosed = false;
  #isAsking = false;
  #isPastWanted = false;
  #before: Counters | null = null;
  /** Unix s; null: it did not answer last time. */
  #heardAt: number | null = null;

  constructor(live: Live, id: string, sampled: Signal<Sampled>) {
    this.#live = live;
    this.#id = id;
    this.#sampled = sampled;
  }

  async sample(): Promise<void> {
    if (document.hidden || this.#isAsking || this.#sampled.value.isForbidden) return;
    this.#isAsking = true;
    try {
      const node = { node_id: this.#id };
      const [metrics, exposition] = await Promise.all([
        this.#live.api.get_node_metrics.query(node),
        // a machine that is away refuses this, and not the other: then its counters are not known
        this.#live.api.scrape_host_metrics.query(node).catch(() => null),
      ]);
      const at = Date.now() / 1_000;
      this.#heard(at, metrics.agent.available || exposition !== null);
      const now = countersOf(exposition?.text ?? '', at);
      const point = pointOf(metrics, this.#before, now);
      this.#before = exposition === null ? null : now;
      this.#show({ points: withPoint(this.#sampled.value.points, point), failure: null });
      if (this.#isPastWanted) void this.#remember();
    } catch (error) {
      this.#show({ failure: problemOf(error), isForbidden: refusalOf(error)?.code === 'forbidden' });
    } finally {
      this.#isAsking = false;
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  /** What was measured meanwhile is asked of an agent that was not heard for a while. */
  #heard(at: number, isHeard: boolean): void {
    const isNew = this.#heardAt === null || at - this.#heardAt > GAP_S;
    if (isNew) this.#before = null; // a rate would be one of all that time
    if (isHeard && isNew) this.#isPastWanted = true;
    this.#heardAt = isHeard ? at : null;
  }

  async #remember(): Promise<void> {
    this.#isPastWanted = false;
    try {
      const history = await this.#live.api.get_node_metrics_history.query({ node_id: this.#id });
      const past = pastOf(history, Date.now() / 1_000);
      this.#show({ points: withPast(this.#sampled.value.points, past), past: true });
    } catch (error) {
      this.#isPastWanted = refusalOf(error)?.code !== 'conflict'; // an agent that is too old stays so
      if (this.#sampled.value.past !== true) this.#show({ past: problemOf(error) });
    }
  }

  #show(news: Partial<Sampled>): void {
    if (!this.#isClosed) this.#sampled.value = { ...this.#sampled.value, ...news };
  }
}
