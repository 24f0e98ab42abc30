/** Targetings as somebody chooses them in a form, and in words. Pure. */
import type { ListedTargeting, PlainTargeting, Targeting } from '../../actors/targeting-schema.ts';

/** What a form gives; what is empty narrows nothing. */
export interface ChosenTargets {
  readonly type: string;
  readonly clusters: string;
  /** Ids. */
  readonly nodes?: readonly string[];
  readonly group: string;
  readonly labels: string;
  readonly version: string;
}

/** The targeting. Names are not looked at here: the service says what is wrong. */
export function targetingOf(chosen: ChosenTargets): Targeting {
  if (chosen.type !== 'group') return plainTargetingOf(chosen);
  return { type: 'group', group: chosen.group, ...narrowedBy(chosen) };
}

/** The same where no group can be chosen. */
export function plainTargetingOf(chosen: Omit<ChosenTargets, 'group'>): PlainTargeting {
  const { type, clusters, nodes = [] } = chosen;
  const narrowed = narrowedBy(chosen);
  if (type === 'nodes') return { type, node_ids: [...nodes], ...narrowed };
  if (type !== 'clusters') return { type: 'all', ...narrowed };
  const names = clusters
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return { type, cluster_names: names, ...narrowed };
}

function narrowedBy({
  labels,
  version,
}: Pick<ChosenTargets, 'labels' | 'version'>): Pick<Targeting, 'labels' | 'node_filters'> {
  return {
    ...(labels !== '' && { labels }),
    ...(version !== '' && { node_filters: { version } }),
  };
}

/** In words, as far as a row has room. */
export function targetingText(targeting: ListedTargeting): string {
  if (targeting.withheld) return 'not shown in a list';
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
