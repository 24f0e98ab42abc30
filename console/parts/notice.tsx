/**
 * What was done or failed, said for some seconds at the foot of the window; and what is about to be done, with a way
 * back.
 */
import { signal } from '@preact/signals';
import { surplusOf } from '../notices.ts';
import { TEXTS } from '../texts.ts';

/** How long one stands, in ms; one with a way back, or about what failed, stands longer. */
const STANDS_MS = 5_000;
const STANDS_LONGER_MS = 10_000;

/** What is said. */
export interface Notice {
  readonly text: string;
  readonly kind?: 'done' | 'failed';
  /**
   * An action that waits as long as the notice stands: `after` does it, unless somebody pressed the button of `label`
   * first. It is done at once where somebody sends the notice away or signs out, and never where the window is closed;
   * so the browser asks before that. `undone` is told where the button was pressed.
   */
  readonly undo?: { readonly label: string; readonly after: () => void; readonly undone?: () => void };
}

interface Standing extends Notice {
  readonly id: number;
  readonly timer: ReturnType<typeof setTimeout>;
}

const standing = signal<readonly Standing[]>([]);
let lastId = 0;

/** Says it. */
export function notify(notice: Notice): void {
  lastId += 1;
  const id = lastId;
  const ms = notice.undo === undefined && notice.kind !== 'failed' ? STANDS_MS : STANDS_LONGER_MS;
  standing.value = [...standing.value, { ...notice, id, timer: setTimeout(() => settle(id), ms) }];
  watchLeaving();
  const surplus = surplusOf(standing.value);
  if (surplus !== undefined) settle(surplus.id);
}

/**
 * Does it once its notice is gone: until then it can be taken back, which `undone` is told. `title`: what is done, in a
 * few words.
 */
export function soon(title: string, after: () => void, undone?: () => void): void {
  const { soon: text, undo: label } = TEXTS.notice;
  notify({ text: text(title), undo: { label, after, ...(undone !== undefined && { undone }) } });
}

/** Does now whatever waits: whoever signs out could not do it later. */
export function settleNotices(): void {
  for (const { id } of standing.value) settle(id);
}

/** It goes, and what waited is done, unless it was `undone`. */
function settle(id: number, isUndone = false): void {
  const found = standing.value.find((one) => one.id === id);
  if (found === undefined) return;
  clearTimeout(found.timer);
  standing.value = standing.value.filter((one) => one !== found);
  watchLeaving();
  if (isUndone) found.undo?.undone?.();
  else found.undo?.after();
}

/** A window that is closed does nothing any more: its browser asks first. */
function watchLeaving(): void {
  removeEventListener('beforeunload', ask);
  if (standing.value.some(({ undo }) => undo !== undefined)) addEventListener('beforeunload', ask);
}

function ask(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

/** Where they stand: once, in the frame. It is there before the first, so that readers of screens hear each. */
export function Notices() {
  return (
    <div class="notices" role="status">
      {standing.value.map(({ id, text, kind = 'done', undo }) => (
        <div key={id} class={`notice ${kind}`}>
          <p>
            <bdi>{text}</bdi>
          </p>
          {undo !== undefined && (
            <button type="button" class="undo" aria-keyshortcuts="u" onClick={() => settle(id, true)}>
              {undo.label}
            </button>
          )}
          <button type="button" class="icon" aria-label={TEXTS.notice.away} onClick={() => settle(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
