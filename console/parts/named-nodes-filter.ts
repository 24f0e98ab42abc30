/** A list that is filtered by nodes, which people know by their names and the service by their ids. */
import { useSignal } from '@preact/signals';
import { idsOf, isNodeId, nodesNamed } from '../lists/named-nodes.ts';
import type { ListState } from '../lists/query.ts';
import type { Live } from '../live.ts';
import { RUN } from '../texts/run.ts';

const T = RUN.form;

/** What stands in the address, with ids in place of names. */
interface NamedList<State> {
  /** As far as it is known: with the names until they are looked up. */
  readonly state: State;
  /** Looks them up. Rejects with a sentence where one means no node, or several. */
  readonly looked: () => Promise<State>;
}

/** The list of an address whose filter `node_id__in` takes names too, by commas. */
export function useNamedNodes<State extends ListState<'node_id__in'>>(live: Live, state: State): NamedList<State> {
  const known = useSignal<{ readonly words: string; readonly ids: string } | null>(null);
  const words = state.filters.node_id__in ?? '';
  const withIds = (ids: string): State => ({ ...state, filters: { ...state.filters, node_id__in: ids } });
  return {
    state: known.value?.words === words ? withIds(known.value.ids) : state,
    looked: async () => {
      const names = words.split(',').map((word) => word.trim());
      if (words === '' || names.every(isNodeId)) return state;
      const named = await nodesNamed(
        names.filter((name) => name !== ''),
        (name) => idsOf(live.api, name),
      );
      if ('tooMany' in named) throw new Error(T.tooManyNames(named.tooMany));
      if ('unknown' in named) throw new Error(T.noNode(named.unknown));
      if ('several' in named) throw new Error(T.manyNodes(named.several));
      const ids = named.ids.join(',');
      known.value = { words, ids };
      return withIds(ids);
    },
  };
}
