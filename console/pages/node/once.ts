/** What is asked when it is wanted, and not again and again: it costs the machine something. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { problemOf } from '../../failure.ts';

/** The last answer. A failure leaves what was known before. */
export interface AskedOnce<T> {
  readonly data: T | null;
  readonly failure: string | null;
  readonly isAsking: boolean;
  readonly again: () => void;
}

/** Asks when its component comes, when `key` changes, and when somebody says so. */
export function useOnce<T>(ask: () => Promise<T>, key = ''): Signal<AskedOnce<T>> {
  const asked = useSignal<AskedOnce<T>>({ data: null, failure: null, isAsking: true, again: () => {} });
  useEffect(() => {
    let isThere = true;
    const once = async (): Promise<void> => {
      asked.value = { ...asked.value, isAsking: true, again: () => void once() };
      try {
        const data = await ask();
        if (isThere) asked.value = { ...asked.value, data, failure: null, isAsking: false };
      } catch (error) {
        if (isThere) asked.value = { ...asked.value, failure: problemOf(error), isAsking: false };
      }
    };
    void once();
    return () => {
      isThere = false;
    };
  }, [key]);
  return asked;
}
