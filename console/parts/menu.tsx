/** A button and what it opens: a popover of the browser's own, which Esc and a click beside it close. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

/** Room that stays free at the edges of the window, in CSS pixels. */
const EDGE_PX = 8;

/** `children` draw what is in it, as long as it is open; `close` closes it. */
export function Menu({
  title,
  label,
  kind = '',
  isDisabled = false,
  children,
}: {
  readonly title: ComponentChildren;
  /** What it is called, for whoever hears it. */
  readonly label: string;
  readonly kind?: string;
  readonly isDisabled?: boolean;
  readonly children: (close: () => void) => ComponentChildren;
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const isOpen = useSignal(false);
  useEffect(() => {
    box.current?.classList.toggle('placed', isOpen.value);
    if (!isOpen.value) return;
    place(button.current, box.current);
    box.current?.querySelector<HTMLElement>('input, select, button, a')?.focus();
  }, [isOpen.value]);
  return (
    <div class="menu">
      <button
        ref={button}
        type="button"
        class={kind}
        popovertarget={id}
        aria-expanded={isOpen.value}
        disabled={isDisabled}
      >
        {title}
      </button>
      <div
        ref={box}
        id={id}
        popover="auto"
        class="popover"
        role="group"
        aria-label={label}
        onBeforeToggle={({ newState }) => newState === 'open' && (isOpen.value = true)}
        onToggle={({ newState }) => newState === 'closed' && (isOpen.value = false)}
        onKeyDown={moved}
      >
        {isOpen.value && children(() => box.current?.hidePopover())}
      </div>
    </div>
  );
}

/** Below its button, or where that leaves the window, above or beside it. */
function place(button: HTMLElement | null, box: HTMLElement | null): void {
  if (button === null || box === null) return;
  const at = button.getBoundingClientRect();
  const left = Math.max(EDGE_PX, Math.min(at.left, innerWidth - box.offsetWidth - EDGE_PX));
  const below = at.bottom + EDGE_PX / 2;
  const isRoom = below + box.offsetHeight + EDGE_PX <= innerHeight;
  const top = isRoom ? below : Math.max(EDGE_PX, innerHeight - box.offsetHeight - EDGE_PX);
  box.style.left = `${left}px`;
  box.style.top = `${top}px`;
}

/** Arrows go through what can be chosen in it. */
function moved(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (step === 0 || event.target instanceof HTMLSelectElement) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('input, button, a')];
  const next = all[all.indexOf(event.target as HTMLElement) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
