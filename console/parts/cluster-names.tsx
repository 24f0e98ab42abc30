/** Names of clusters that a field offers: the first of them by name. Any other can be typed. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Fleet } from '../fleet/feed.ts';

/** Null: they are not known, or not yet. */
export function useClusterNames(fleet: Fleet): readonly string[] | null {
  const names = useSignal<readonly string[] | null>(null);
  useEffect(() => {
    const unknown = (): null => null;
    void fleet
      .clusterNames()
      .catch(unknown)
      .then((found) => (names.value = found));
  }, [fleet]);
  return names.value;
}

/** What the field offers whose `list` is this id. */
export function ClusterNames({ id, names }: { readonly id: string; readonly names: readonly string[] | null }) {
  return (
    <datalist id={id}>
      {names?.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
