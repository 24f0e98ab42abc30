/** What every page says. */
import { number } from './number.ts';

/** By where they stand. */
export const FRAME = {
  pages: {
    overview: 'Overview',

    nodes: 'Nodes',

    node: 'Node',

    run: 'Run',

    commands: 'Commands',

    command: 'Command',

    executions: 'Executions',

    clusters: 'Clusters',
    cluster: 'Cluster',

    groups: 'Groups',
    group: 'Group',

    aliases: 'Aliases',

    events: 'Events',

    updates: 'Updates',
    update: 'Update',

    'enrollment-keys': 'Enrolment keys',

    ssh: 'SSH access',
    'ssh-username': 'SSH username',

    webhooks: 'Webhooks',
    webhook: 'Webhook',
    deliveries: 'Deliveries',

    admins: 'Admins',
    admin: 'Admin',

    health: 'Health',

    recordings: 'Recordings',
    recording: 'Recording',

    terminal: 'Terminal',

    sessions: 'Sessions',

    unknown: 'No such page',
    signIn: 'Sign in',
  },
  groups: { fleet: 'Fleet', work: 'Work', access: 'Access', service: 'Service' },
  product: 'Edge fleet control',
  shell: {
    skip: 'To the content',
    navigation: 'Pages',
    signOut: 'Sign out',
    theme: 'Colours',
    themes: { system: 'As the system', light: 'Light', dark: 'Dark' },
    keys: 'Keyboard',
    menu: 'Pages',
    palette: 'Search or do',
    plain: 'This page came over plain HTTP: whoever is between reads all of it, and could sign in as you. Use HTTPS.',
    open: 'No key is asked for here: whoever reaches this address has the whole fleet.',
    outdated: 'The console was upgraded since this page was loaded.',
    stale: (since: string) => `No connection since ${since}. What you see is as it was then. Trying again.`,
    still: (since: string) =>
      `The database cannot be reached since ${since}. What you see is as it was then. Trying again.`,
  },
  states: {
    loading: 'Loading.',
    failed: 'This could not be had.',
    again: 'Try again',
    notLoaded: 'This could not be loaded: the admin is away, or was upgraded since.',
    reload: 'Load anew',
  },
  calls: {
    notSent: 'There is no connection: nothing was done.',
    lost: {
      query: 'The connection was lost before the answer came.',
      mutation: 'It is not known whether this was done: the connection was lost before the answer came.',
    },
  },
  form: { cancel: 'Cancel', sending: 'Sending', shownOnce: 'It is shown this once. Copy it now.', done: 'I have it' },
  lists: {
    any: 'Any',
    clear: 'Show all',
    none: 'Nothing is as you asked for.',
    pageGone: 'This page is empty now.',
    firstPage: 'To the first page',
    pagesOf: (label: string) => `Pages: ${label}`,
    rows: (first: number, last: number, total: number) => `${number(first)} to ${number(last)} of ${number(total)}`,
    previous: 'Previous',
    next: 'Next',
  },
  grid: { choose: (name: string) => `Choose ${name}`, chooseAll: 'Choose all that are shown' },
  keys: {
    title: 'Keyboard',
    close: 'Close',
    everywhere: 'Everywhere',
    jumps: 'To a page',
    rows: [
      ['?', 'this list'],
      ['Ctrl K, ⌘ K', 'search everything, and do it'],
      ['/', 'search'],
      ['u', 'to the last that can be taken back'],
      ['Esc', 'out of the search, choose nothing, or close'],
      ['j, ↓', 'next row'],
      ['k, ↑', 'row before'],
      ['Page ↓, Page ↑', 'a window on, or back'],
      ['Home, End', 'first row, last row'],
      ['Enter', 'open the row'],
      ['x', 'choose the row, or no more'],
      ['Shift x', 'choose up to the row'],
      ['Ctrl a', 'choose all rows that are shown'],
    ],
  },
  elsewhere: {
    title: 'In a terminal',
    cli: 'As a command',
    curl: 'As a request',
    copy: 'Copy',
    copyOf: (what: string) => `Copy: ${what.toLowerCase()}`,
    copied: 'Copied.',
    otherOrder: 'edge cannot sort by this: it shows the same rows in an order of its own.',
    withoutWords: 'The words of the search are of this page alone.',
    notCopied: 'This browser lets no page copy here: mark the text and copy it yourself.',
  },
  notice: { away: 'Send away', soon: (what: string) => `${what}, in a moment.`, undo: 'Undo' },
  confirm: {
    type: 'To go on, type',
    cancel: 'Cancel',
    items: (count: number) => (count === 1 ? 'One, by name' : `All ${number(count)}, by name`),
    more: (count: number) => `and ${number(count)} more`,
  },
  unknown: { lead: 'There is no page at this address.', back: 'To the overview' },
} as const;
