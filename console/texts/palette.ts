/** What the palette says. */
import type { Kind } from '../palette.ts';
import { number } from './number.ts';

/** By where they stand. */
export const PALETTE = {
  title: 'Search or do',
  hint: 'a page, a node, a cluster, a command, an action',
  found: (count: number) =>
    count === 0 ? 'Nothing is called so.' : count === 1 ? '1 found' : `${number(count)} found`,
  kinds: {
    pages: 'Pages',
    actions: 'Actions',
    commands: 'Commands',
    clusters: 'Clusters',
    groups: 'Groups',
    nodes: 'Nodes',
    'on-node': 'On the node',
  } satisfies Record<Kind, string>,
  actions: {
    run: 'Run a command',
    createKey: 'Create an enrolment key',
    createGroup: 'Create a group',
    createAlias: 'Create an alias',
    copy: 'Copy the address of this page',
    keyboard: 'Show all keys',
  },
  onNode: {
    run: (name: string) => `Run a command on ${name}`,
    terminal: (name: string) => `Terminal of ${name}`,
    diagnose: (name: string) => `Diagnose ${name}`,
  },
  theme: (name: string) => `Colours: ${name.toLowerCase()}`,
  nodes: (count: number) => (count === 1 ? '1 node' : `${number(count)} nodes`),
  foot: '↑ ↓ to choose · Enter to go · Esc to close',
} as const;
