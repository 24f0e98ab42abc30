/** What the list of groups, the page of one and the list of aliases say. */
import { number } from './number.ts';

const nodes = (count: number): string => (count === 1 ? 'one node' : `${number(count)} nodes`);

/** By where they stand. */
export const GROUPS = {
  lead: 'A group says which nodes are meant, under a name. Who is in it is found whenever it is used.',
  create: 'New group',
  empty: 'There is no group yet. One saves typing which nodes are meant.',
  name: 'Name',
  nameHint: 'name, or prod*',
  columns: { name: 'Name', targets: 'Nodes', description: 'Description', created: 'Created' },
  form: {
    title: 'New group',
    action: 'Create',
    nameHint: 'Lower-case letters, digits and hyphens, at most 24.',
    description: 'Description',
    target: 'Nodes',
    targets: { all: 'all nodes', clusters: 'nodes of clusters', nodes: 'these nodes' },
    clusters: 'Clusters',
    clustersHint: 'Names, with commas between.',
    nodes: 'These nodes',
    nodesHint: 'Names, aliases or ids, with commas between.',
    labels: 'Labels',
    labelsHint: 'Only nodes with these, such as env=prod,!gpu.',
    version: 'Version',
    versionHint: 'Only nodes that run this version, such as 1.2.*.',
    noNode: (name: string) => `No node is called "${name}".`,
    manyNodes: (name: string) => `Several nodes are called "${name}": give the id of one.`,
  },
  created: (name: string, count: number) => `Group ${name} is there: ${nodes(count)} in it now.`,
  one: {
    targets: 'Nodes',
    description: 'Description',
    noDescription: 'none',
    created: 'Created',
    run: 'Run a command on it',
    members: 'In it now',
    nobody: 'No node is in it now.',
    columns: { name: 'Name', cluster: 'Cluster', status: 'Status' },
    remove: 'Delete',
    removeTitle: (name: string) => `Delete the group ${name}?`,
    removeText: 'Its nodes stay, and so do commands that it was used for. What names it later is refused.',
    removed: (name: string) => `Group ${name} is deleted.`,
  },
} as const;

/** By where they stand. */
export const ALIASES = {
  lead: 'An alias is one more name of a node, unique in its cluster and known in its VPN.',
  create: 'New alias',
  empty: 'No node has an alias yet.',
  name: 'Name',
  nameHint: 'name, or web-*',
  cluster: 'Cluster',
  clusterHint: 'name, or prod*',
  columns: {
    name: 'Name',
    node: 'Node',
    cluster: 'Cluster',
    hostname: 'Host name',
    created: 'Created',
    actions: 'Actions',
  },
  gone: 'gone',
  form: {
    title: 'New alias',
    action: 'Create',
    node: 'Node',
    nodeHint: 'Its name, an alias or its id.',
    nameHint: 'Lower-case letters, digits and hyphens.',
  },
  created: (name: string) => `The alias ${name} is made.`,
  remove: 'Delete',
  removeOf: (name: string, cluster: string) => `Delete the alias ${name} of ${cluster}`,
  removeTitle: (name: string) => `Delete the alias ${name}?`,
  removeText: 'This name leads nowhere then:',
  removed: (name: string) => `The alias ${name} is deleted.`,
} as const;
