/** What no feed tells: asked now and then, while the page is seen. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { refusalOf } from '../api/client/client.ts';

/** How often it is asked, in ms. */
const EVERY_MS = 10_000;

/** What was answered last. A failure leaves what was known before. */
export interface Polled<T> {
  readonly data: T | null;
  readonly failure: string | null;
}

/** Asks as long as its component is there. */
export function usePolled<T>(ask: () => Promise<T>): Signal<Polled<T>> {
  const polled = useSignal<Polled<T>>({ data: null, failure: null });
  useEffect(() => {
    let isThere = true;
    let isAsking = false;
    const once = async (): Promise<void> => {
      // over a connection that is lost, one question waits for all
      if (document.hidden || isAsking) return;
      isAsking = true;
      try {
        const data = await ask();
        if (isThere) polled.value = { data, failure: null };
      } catch (error) {
        const failure = refusalOf(error)?.message ?? String(error);
        if (isThere) polled.value = { data: polled.value.data, failure };
      } finally {
        isAsking = false;
      }
    };
    void once();
    const timer = setInterval(() => void once(), EVERY_MS);
    return () => {
      isThere = false;
      clearInterval(timer);
    };
  }, []);
  return polled;
}
