/** Which admin the connection of the page leads to: another one after a failover, or another version of it. */
import { signal } from '@preact/signals';

/** Waited before it is asked again who did not say it, in ms. */
export const SERVING_AGAIN_MS = 10_000;

/** An admin. */
export interface Serving {
  readonly name: string;
  readonly version: string;
}

/** It; null: it is not known, as nobody could say it. */
export const serving = signal<Serving | null>(null);

/**
 * Asks over the connection: behind a balancer a request may come to another admin. `ask`: whenever one is open; it is
 * asked again until it says so, or `stop`, after which nothing is asked any more: a question would dial.
 */
export function followServing(question: () => Promise<Serving>) {
  let turn = 0;
  let isStopped = false;
  let again: ReturnType<typeof setTimeout> | undefined;
  const drop = (): void => {
    turn += 1;
    clearTimeout(again);
  };
  const stop = (): void => {
    isStopped = true;
    drop();
  };
  const ask = async (): Promise<void> => {
    if (isStopped) return;
    drop();
    const mine = turn;
    try {
      const { name, version } = await question();
      if (mine === turn) serving.value = { name, version };
    } catch {
      if (mine !== turn) return;
      serving.value = null; // its database is away, and it may be another one than the last
      again = setTimeout(() => void ask(), SERVING_AGAIN_MS);
    }
  };
  return { ask: (): void => void ask(), stop };
}
