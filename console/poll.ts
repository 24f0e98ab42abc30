/** What no feed tells: asked now and then, while the page is seen. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { refusalOf } from '../api/client/client.ts';

/** How often it is asked, in ms. */
const EVERY_MS = 10_000;

/** What somebody types is asked for after this, in ms: not at each letter. */
const TYPED_MS = 200;

/** What was answered last. A failure leaves what was known before. */
export interface Polled<T> {
  readonly data: T | null;
  readonly failure: string | null;
  /** Whether `data` is of another question than the one that is asked now. */
  readonly isOld: boolean;
  /** Asks at once: after a change, or where it failed. */
  readonly again: () => void;
}

/**
 * Asks as long as its component is there. `key` names the question: where it changes, the new one is asked, and what is
 * known stays to be seen until its answer comes. `isOnce`: only at first, and whenever `again` is called.
 */
export function usePolled<T>(
  ask: () => Promise<T>,
  key = '',
  { isOnce = false }: { readonly isOnce?: boolean } = {},
): Signal<Polled<T>> {
  const wakes = useRef((): void => {});
  const isFirst = useRef(true);
  const polled = useSignal<Polled<T>>({ data: null, failure: null, isOld: false, again: () => wakes.current() });
  useEffect(() => {
    let isThere = true;
    let isAsking = false;
    const told = (news: Partial<Polled<T>>): void => {
      if (isThere) polled.value = { ...polled.value, ...news };
    };
    const once = async (): Promise<void> => {
      // over a connection that is lost, one question waits for all
      if (document.hidden || isAsking) return;
      isAsking = true;
      try {
        told({ data: await ask(), failure: null, isOld: false });
      } catch (error) {
        told({ failure: refusalOf(error)?.message ?? String(error) });
      } finally {
        isAsking = false;
      }
    };
    const wake = (): void => void once();
    wakes.current = wake;
    if (!isFirst.current) told({ isOld: true, failure: null });
    const first = setTimeout(wake, isFirst.current ? 0 : TYPED_MS);
    isFirst.current = false;
    const timer = isOnce ? undefined : setInterval(wake, EVERY_MS);
    if (!isOnce) document.addEventListener('visibilitychange', wake);
    return () => {
      isThere = false;
      clearTimeout(first);
      clearInterval(timer);
      document.removeEventListener('visibilitychange', wake);
    };
  }, [key]);
  return polled;
}
