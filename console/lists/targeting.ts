/** Targetings as somebody chooses them in a form, and in words. Pure. */
import type { Targeting } from '../../actors/targeting.ts';

/** What a form gives; what is empty narrows nothing. */
export interface ChosenTargets {
  readonly type: string;
  readonly clusters: string;
  readonly group: string;
  readonly labels: string;
  readonly version: string;
}

/** The targeting. Names are not looked at here: the service says what is wrong. */
export function targetingOf({ type, clusters, group, labels, version }: ChosenTargets): Targeting {
  const narrowed = {
    ...(labels !== '' && { labels }),
    ...(version !== '' && { node_filters: { version } }),
  };
  if (type === 'group') return { type, group, ...narrowed };
  if (type !== 'clusters') return { type: 'all', ...narrowed };
  const names = clusters
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return { type, cluster_names: names, ...narrowed };
}

/** In words, as far as a row has room. */
export function targetingText(targeting: Targeting): string {
  const { type, node_ids: nodes, cluster_names: clusters, group, labels, node_filters: filters } = targeting;
  const whom = {
    all: 'all nodes',
    nodes: `${nodes?.length ?? 0} nodes`,
    clusters: clusters?.join(', ') ?? '',
    group: `group ${group ?? ''}`,
  }[type];
  const narrowed = Object.entries(filters ?? {}).map(([name, value]) => `${name} ${String(value)}`);
  return [whom, ...(labels === undefined ? [] : [labels]), ...narrowed].join(' · ');
}
