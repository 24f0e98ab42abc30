/** Every text of the console, in one place. */
import type { NodeStatus } from '../actors/resources/node.ts';

/** A count as people read it. */
function number(count: number): string {
  return count.toLocaleString('en');
}

/** By where they stand. */
export const TEXTS = {
  product: 'Edge fleet control',
  pages: { overview: 'Overview', nodes: 'Nodes', sessions: 'Sessions', unknown: 'No such page', signIn: 'Sign in' },
  statuses: { healthy: 'Healthy', unhealthy: 'Unhealthy', unreachable: 'Unreachable' } satisfies Record<
    NodeStatus,
    string
  >,
  shell: {
    skip: 'To the content',
    navigation: 'Pages',
    signOut: 'Sign out',
    theme: 'Colours',
    themes: { system: 'As the system', light: 'Light', dark: 'Dark' },
    keys: 'Keyboard',
    plain: 'This page came over plain HTTP: whoever is between reads all of it, and could sign in as you. Use HTTPS.',
    open: 'No key is asked for here: whoever reaches this address has the whole fleet.',
    stale: (since: string) => `No connection since ${since}. What you see is as it was then. Trying again.`,
  },
  signIn: {
    lead: 'Show MASTER_KEY or API_KEY of this service once. It is exchanged for a session and not kept by this page.',
    key: 'Key',
    submit: 'Sign in',
    checking: 'Signing in',
    where: 'An admin that was given no key made one: its log says in which file.',
    over: 'Your session is over: it was unused for half an hour, there for twelve hours, ended by somebody, or its key is no key any more.',
    out: 'You are signed out.',
    empty: 'Type or paste a key.',
    wrong: 'This is no key of this service.',
    unreached: 'The admin does not answer. Try again.',
  },
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
    terminal: 'In a terminal',
    withoutWords: 'The words of the search are of this page alone.',
    matched: (what: string) => `matches ${what}`,
  },
  sessions: {
    lead: 'Who is signed in to the console, at every admin. One that is ended is cut within a second.',
    columns: { key: 'Key', address: 'From', browser: 'Browser', since: 'Signed in', used: 'Last used', end: 'End' },
    mine: 'this one',
    end: 'End',
    endOf: (address: string) => `End the session from ${address}`,
  },
  unknown: { lead: 'There is no page at this address.', back: 'To the overview' },
  states: {
    loading: 'Loading.',
    failed: 'This could not be had.',
    again: 'Try again',
  },
  keys: {
    title: 'Keyboard',
    close: 'Close',
    rows: [
      ['?', 'this list'],
      ['g o', 'to the overview'],
      ['g n', 'to the nodes'],
      ['g s', 'to the sessions'],
      ['/', 'search'],
      ['Esc', 'out of the search, or close'],
      ['j, ↓', 'next row'],
      ['k, ↑', 'row before'],
      ['Page ↓, Page ↑', 'a window on, or back'],
      ['Home, End', 'first row, last row'],
    ],
  },
} as const;
