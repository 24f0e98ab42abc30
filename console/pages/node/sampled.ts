/** Asks a node for its metrics as long as its page is seen. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { refusalOf } from '../../../api/client/client.ts';
import type { Live } from '../../live.ts';
import { problemOf } from '../../failure.ts';
import { countersOf, pointOf, SAMPLE_MS, withPoint, type Counters, type Point } from './measured.ts';

/** What is known. `isForbidden`: this session does not reach metrics at all. */
export interface Sampled {
  readonly points: readonly Point[];
  readonly failure: string | null;
  readonly isForbidden: boolean;
}

/** Begins with nothing: what was before nobody kept. A node that does not answer leaves a gap. */
export function useSamples(live: Live, id: string): Signal<Sampled> {
  const sampled = useSignal<Sampled>({ points: [], failure: null, isForbidden: false });
  useEffect(() => {
    let isThere = true;
    let isAsking = false;
    let before: Counters | null = null;
    const once = async (): Promise<void> => {
      if (document.hidden || isAsking || sampled.value.isForbidden) return;
      isAsking = true;
      try {
        const [metrics, exposition] = await Promise.all([
          live.api.get_node_metrics.query({ node_id: id }),
          // a machine that is away refuses this, and not the other: then its counters are not known
          live.api.scrape_host_metrics.query({ node_id: id }).catch(() => null),
        ]);
        const at = Date.now() / 1_000;
        const now = countersOf(exposition?.text ?? '', at);
        const point = pointOf(metrics, before, now);
        before = exposition === null ? null : now;
        if (isThere)
          sampled.value = { ...sampled.value, points: withPoint(sampled.value.points, point), failure: null };
      } catch (error) {
        const isForbidden = refusalOf(error)?.code === 'forbidden';
        if (isThere) sampled.value = { ...sampled.value, failure: problemOf(error), isForbidden };
      } finally {
        isAsking = false;
      }
    };
    void once();
    const timer = setInterval(() => void once(), SAMPLE_MS);
    return () => {
      isThere = false;
      clearInterval(timer);
    };
  }, [id, live]);
  return sampled;
}
