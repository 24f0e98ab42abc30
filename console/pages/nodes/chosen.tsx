/** What is chosen of the nodes: how many, and what can be done with them. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { Fleet } from '../../fleet/feed.ts';
import type { Live } from '../../live.ts';
import { loadUntilThere } from '../../loading.ts';
import { LoadAnew } from '../../parts/load-anew.tsx';
import { NOTHING } from '../../selection.ts';
import { TEXTS } from '../../texts.ts';
import { chosenOf } from './chosen-nodes.ts';

const T = TEXTS.nodes;

interface ChosenProps {
  readonly fleet: Fleet;
  readonly live: Live;
  readonly shown: readonly NodeResource[];
}

/** Nothing, as long as nothing is chosen. `shown`: the rows of the list, of which others may have left it. */
export function ChosenNodes({ fleet, live, shown }: ChosenProps) {
  const chosen = chosenOf(fleet);
  const { size } = chosen.value;
  const { Actions, hasFailed } = useActions(size > 0);
  if (size === 0) return null;
  const elsewhere = size - shown.reduce((count, { id }) => count + (chosen.value.has(id) ? 1 : 0), 0);
  return (
    <div class="chosen" role="group" aria-label={T.chosen(size)}>
      <strong>{T.chosen(size)}</strong>
      {elsewhere > 0 && <span class="soft">{T.chosenElsewhere(elsewhere)}</span>}
      {hasFailed && (
        <>
          <span class="soft">{TEXTS.states.notLoaded}</span>
          <LoadAnew />
        </>
      )}
      {Actions !== null && <Actions fleet={fleet} live={live} ids={[...chosen.value]} />}
      <button type="button" class="plain" onClick={() => (chosen.value = NOTHING)}>
        {T.chooseNone}
      </button>
    </div>
  );
}

type Actions = ComponentType<{ readonly fleet: Fleet; readonly live: Live; readonly ids: readonly string[] }>;

/** They are no part of the first load: who chooses nothing does nothing. `Actions` is null while they are not there. */
function useActions(isWanted: boolean): { readonly Actions: Actions | null; readonly hasFailed: boolean } {
  const [loaded, setLoaded] = useState<ReturnType<typeof useActions>>({ Actions: null, hasFailed: false });
  useEffect(() => {
    if (!isWanted || loaded.Actions !== null) return undefined;
    return loadUntilThere(
      () => import('./actions.tsx'),
      ({ NodeActions }) => setLoaded({ Actions: NodeActions, hasFailed: false }),
      () => setLoaded({ Actions: null, hasFailed: true }),
    );
  }, [isWanted]);
  return loaded;
}
