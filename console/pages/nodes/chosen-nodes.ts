/** The chosen nodes, as long as the window stands. */
import { signal, type Signal } from '@preact/signals';
import type { Fleet } from '../../fleet/feed.ts';
import { NOTHING, type Selection } from '../../selection.ts';

/** It stays chosen while one looks at other pages. */
const CHOSEN = new WeakMap<Fleet, Signal<Selection>>();

/** The chosen ids of the fleet. */
export function chosenOf(fleet: Fleet): Signal<Selection> {
  const known = CHOSEN.get(fleet);
  if (known !== undefined) return known;
  const chosen = signal(NOTHING);
  CHOSEN.set(fleet, chosen);
  return chosen;
}
