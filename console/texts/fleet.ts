/** What the overview and the list of nodes say. */
import type { NodeStatus } from '../../actors/resources/node.ts';
import { number } from './number.ts';

/** By where they stand. */
export const FLEET = {
  statuses: { healthy: 'Healthy', unhealthy: 'Unhealthy', unreachable: 'Unreachable' } satisfies Record<
    NodeStatus,
    string
  >,
  overview: {
    nodes: 'Nodes',
    all: 'All nodes',
    recent: (count: number) => (count === 0 ? 'none in the last hour' : `${number(count)} in the last hour`),
    ill: 'Not healthy',
    illAll: (count: number) => `All ${number(count)}`,
    well: 'Every node is healthy.',
    empty: 'There is no node yet.',
    emptyNext: 'Let a first machine in',
    columns: { name: 'Name', cluster: 'Cluster', status: 'Status', since: 'Since', why: 'Why' },
    admins: 'Admins',
    adminColumns: {
      name: 'Name',
      status: 'Status',
      clusters: 'Clusters',
      nodes: 'Nodes',
      room: 'Room',
      version: 'Version',
    },
    health: 'This admin',
    healthy: (count: number) => `All ${count} checks pass.`,
    unhealthy: (failed: number, count: number) => `${failed} of ${count} checks fail.`,
    notAsked: 'It could not be asked.',
  },
  nodes: {
    search: 'Search',
    searchHint: 'name, label, version, system, id',
    cluster: 'Cluster',
    allClusters: (count: number) => `All clusters (${count})`,
    shown: (shown: number, total: number) =>
      shown === total ? `${number(total)} nodes` : `${number(shown)} of ${number(total)} nodes`,
    clear: 'Show all',
    columns: { name: 'Name', cluster: 'Cluster', status: 'Status', since: 'Since', version: 'Version', why: 'Why' },
    none: 'No node is as you asked for.',
    loading: (known: number, total: number) => `Loading ${number(known)} of ${number(total)} nodes.`,
    tooMany: 'There are more nodes than a page can follow at once. Choose a cluster.',
    chooseCluster: 'Choose a cluster',
    withoutWords: 'The words of the search are of this page alone.',
    chosen: (count: number) => `${number(count)} chosen`,
    chosenElsewhere: (count: number) => `${number(count)} of them not in this list`,
    chooseNone: 'Choose none',
    matched: (what: string) => `matches ${what}`,
  },
} as const;
