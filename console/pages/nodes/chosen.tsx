/** What is chosen of the nodes: how many, and what can be done with them. */
import { signal, type Signal } from '@preact/signals';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { Fleet } from '../../fleet/feed.ts';
import { NOTHING, type Selection } from '../../selection.ts';
import { TEXTS } from '../../texts.ts';

const T = TEXTS.nodes;

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

/** Nothing, as long as nothing is chosen. `shown`: the rows of the list, of which others may have left it. */
export function ChosenNodes({
  chosen,
  shown,
}: {
  readonly chosen: Signal<Selection>;
  readonly shown: readonly NodeResource[];
}) {
  const { size } = chosen.value;
  if (size === 0) return null;
  const elsewhere = size - shown.reduce((count, { id }) => count + (chosen.value.has(id) ? 1 : 0), 0);
  return (
    <div class="chosen" role="group" aria-label={T.chosen(size)}>
      <strong>{T.chosen(size)}</strong>
      {elsewhere > 0 && <span class="soft">{T.chosenElsewhere(elsewhere)}</span>}
      <button type="button" onClick={() => (chosen.value = NOTHING)}>
        {T.chooseNone}
      </button>
    </div>
  );
}
