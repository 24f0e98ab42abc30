/** Keys that work on every page. None of them takes a key from a field in which somebody types. */
import { signal } from '@preact/signals';
import { go } from './router.ts';
import { addressOf, PAGE_NAMES, placeOf, type PageName } from './routes.ts';

/** Whether the list of keys is open. */
export const isHelpOpen = signal(false);

/** Whether the palette is open. */
export const isPaletteOpen = signal(false);

/** How the palette's keys are called here. */
export const PALETTE_KEYS = /Mac|iPhone|iPad/u.test(navigator.platform) ? '⌘ K' : 'Ctrl K';

/** Time within which the second key of a pair follows the first, in ms. */
const PAIR_MS_MAX = 1_500;

/** The page behind the second key of a pair. */
function jumpOf(key: string): PageName | undefined {
  return PAGE_NAMES.find((page) => placeOf(page).jump === key);
}

/** Listens for them. */
export function startKeys(): void {
  let firstAtMs = Number.NEGATIVE_INFINITY;
  addEventListener('keydown', (event) => {
    if (isForPalette(event)) {
      event.preventDefault();
      isPaletteOpen.value = true;
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
    const jump = event.timeStamp - firstAtMs < PAIR_MS_MAX ? jumpOf(event.key) : undefined;
    firstAtMs = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY;
    if (jump !== undefined) go(addressOf(jump));
    else if (event.key === '?') isHelpOpen.value = true;
    else if (event.key === '/') {
      const search = document.querySelector<HTMLInputElement>('input[type=search]');
      if (search === null) return;
      search.focus();
      search.select();
    } else if (event.key === 'u') {
      const waiting = [...document.querySelectorAll<HTMLElement>('.notice .undo')];
      if (waiting.length === 0) return;
      waiting.at(-1)?.focus();
    } else return;
    event.preventDefault();
  });
}

/** Also where somebody types, except into a terminal: Ctrl-K is a key of shells too. */
function isForPalette({ key, ctrlKey, metaKey, altKey, shiftKey, target }: KeyboardEvent): boolean {
  if (key.toLowerCase() !== 'k' || ctrlKey === metaKey || altKey || shiftKey) return false;
  const isElsewhere = target instanceof Element && target.closest('.xterm, [data-own-keys]') !== null;
  return !isElsewhere && document.querySelector('.shell') !== null && document.querySelector('dialog[open]') === null;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}
