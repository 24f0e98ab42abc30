/** What no feed tells: asked now and then, while the page is seen. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { messageOf } from './failure.ts';

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
  /** Asks at once, or once more after the answer that is on its way: after a change, or where it failed. */
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
    /** Asked for while nobody looked, or while an answer was on its way that may be of before. */
    let isWanted = false;
    const told = (news: Partial<Polled<T>>): void => {
      if (isThere) polled.value = { ...polled.value, ...news };
    };
    const wake = async (): Promise<void> => {
      isWanted = true;
      if (document.hidden || isAsking) return;
      isWanted = false;
      isAsking = true;
      try {
        told({ data: await ask(), failure: null, isOld: false });
      } catch (error) {
        told({ failure: messageOf(error) });
      } finally {
        isAsking = false;
      }
      if (isWanted && isThere) await wake();
    };
    /** Over a connection that is lost, one question waits for all. */
    const look = (): void => {
      if (!isAsking) void wake();
    };
    const seen = (): void => {
      if (isWanted || !isOnce) look();
    };
    wakes.current = () => void wake();
    if (!isFirst.current) told({ isOld: true, failure: null });
    const first = setTimeout(look, isFirst.current ? 0 : TYPED_MS);
    isFirst.current = false;
    const timer = isOnce ? undefined : setInterval(look, EVERY_MS);
    document.addEventListener('visibilitychange', seen);
    return () => {
      isThere = false;
      clearTimeout(first);
      clearInterval(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [key]);
  return polled;
}
