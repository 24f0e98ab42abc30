/** What somebody typed into a field, done after a moment in which it can be taken back. */
import type { Signal } from '@preact/signals';
import { soon } from './notice.tsx';

/** Does soon what was typed, and empties the field. What is not done, as `act` answers, is back in it, to be mended. */
export function typedSoon(field: Signal<string>, title: string, act: () => Promise<boolean>): void {
  const typed = field.value;
  field.value = '';
  soon(title, () => void putBackIfRefused(field, typed, act));
}

async function putBackIfRefused(field: Signal<string>, typed: string, act: () => Promise<boolean>): Promise<void> {
  if (!(await act()) && field.value === '') field.value = typed;
}
