/** Keys that work on every page. None of them takes a key from a field in which somebody types. */
import { signal } from '@preact/signals';
import { WHOLE_FLEET } from './fleet/query.ts';
import { go } from './router.ts';

/** Whether the list of keys is open. */
export const isHelpOpen = signal(false);

/** Time within which the second key of a pair follows the first, in ms. */
const PAIR_MS_MAX = 1_500;

const JUMPS: Readonly<Record<string, () => void>> = {
  o: () => go({ page: 'overview' }),
  n: () => go({ page: 'nodes', query: WHOLE_FLEET }),
  s: () => go({ page: 'sessions' }),
};

/** Listens for them. */
export function startKeys(): void {
  let firstAtMs = Number.NEGATIVE_INFINITY;
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
    const jump = event.timeStamp - firstAtMs < PAIR_MS_MAX ? JUMPS[event.key] : undefined;
    firstAtMs = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY;
    if (jump !== undefined) jump();
    else if (event.key === '?') isHelpOpen.value = true;
    else if (event.key === '/') {
      const search = document.querySelector<HTMLInputElement>('input[type=search]');
      if (search === null) return;
      search.focus();
      search.select();
    } else return;
    event.preventDefault();
  });
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}
