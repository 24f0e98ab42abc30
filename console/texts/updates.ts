/** What the list of self-update requests and the page of one say. */
import { number } from './number.ts';

const nodes = (count: number): string => `${number(count)} ${count === 1 ? 'node' : 'nodes'}`;

/** By where they stand. */
export const UPDATES = {
  lead: 'An update tells healthy nodes that take part to fetch the newest stable agent, all at once or in batches.',
  create: 'New update',
  empty: 'No node was told to update yet.',
  status: 'Status',
  statuses: { pending: 'waiting', processing: 'under way', completed: 'completed' },
  columns: {
    started: 'Started',
    status: 'Status',
    targets: 'Targets',
    batch: 'At once',
    told: 'Told',
    failed: 'Failed',
  },
  all: 'all',
  form: {
    title: 'New update',
    look: 'See who is reached',
    start: 'Start the update',
    target: 'Nodes',
    targets: { all: 'all nodes', clusters: 'nodes of clusters', group: 'nodes of a group' },
    clusters: 'Clusters',
    clustersHint: 'Names, with commas between.',
    group: 'Group',
    labels: 'Labels',
    labelsHint: 'Only nodes with these, such as env=prod,!gpu.',
    version: 'Version',
    versionHint: 'Only nodes that run this version now, such as 1.2.*. Updates always bring the newest of the channel.',
    batch: 'At once',
    batchHint: 'Empty: all. The next ones wait until these are healthy again.',
    failures: 'Failures at most',
    failuresHint: 'Empty: any number. Beyond it no more nodes are told.',
    timeout: 'Seconds until healthy',
    timeoutHint: 'Empty: 300.',
  },
  confirm: {
    title: (count: number) => `Update ${number(count)} ${count === 1 ? 'node' : 'nodes'}?`,
    text: (shown: number, count: number) =>
      count > shown
        ? `Of these the healthy ones that take part are told. The first ${number(shown)} of ${number(count)}:`
        : 'Of these the healthy ones that take part are told to fetch the newest agent.',
    nobody: 'These filters reach no node.',
  },
  starting: (count: number) => `Update ${nodes(count)}`,
  started: 'The update is started.',
  one: {
    started: 'Started',
    targeting: 'Targets',
    batch: 'At once',
    failures: 'Failures at most',
    timeout: 'Healthy again within',
    unlimited: 'any number',
    seconds: (count: number) => `${number(count)} s`,
    progress: 'How far it is',
    nodes: 'Nodes',
    empty: 'It reached no node.',
    remove: 'Delete',
    removeTitle: 'Delete this update?',
    removeText: 'The request and its results are gone then. Nodes stay as they are.',
    removed: 'The update is deleted.',
    notYet: 'An update cannot be stopped; it can be deleted when it is completed.',
    result: 'Result',
    results: {
      waiting: 'waiting',
      triggered: 'told',
      updated: 'updated',
      rolled_back: 'went back',
      failed: 'failed',
      skipped: 'skipped',
    },
    columns: {
      node: 'Node',
      wave: 'Wave',
      result: 'Result',
      from: 'From',
      to: 'To',
      told: 'Told',
      finished: 'Finished',
      why: 'Why',
    },
  },
  waves: {
    title: (count: number) => (count === 1 ? 'One wave' : `${number(count)} waves`),
    label: 'Waves',
    wave: (wave: number) => `Wave ${number(wave)}`,
    shown: (first: number, last: number) =>
      `Waves ${number(first)} to ${number(last)} are shown: those around the first that is not over.`,
    columns: {
      wave: 'Wave',
      state: 'State',
      waiting: 'Waiting',
      underWay: 'Under way',
      done: 'Done',
      failed: 'Failed',
      skipped: 'Skipped',
      began: 'Began',
    },
    states: { waiting: 'waiting', underWay: 'under way', failed: 'with failures', done: 'done', skipped: 'skipped' },
    begins: (wave: number, waiting: number, underWay: number) =>
      underWay === 0
        ? `Wave ${number(wave)} begins: ${nodes(waiting)}.`
        : `Wave ${number(wave)} (${nodes(waiting)}) begins once one of ${nodes(underWay)} under way is healthy again, went back or failed`,
    goesOn: (wave: number, waiting: number, underWay: number) =>
      underWay === 0
        ? `Wave ${number(wave)} goes on: ${nodes(waiting)}.`
        : `Wave ${number(wave)} goes on (${nodes(waiting)} to go) once one of ${nodes(underWay)} under way is healthy again, went back or failed`,
    latest: (ahead: string) => `in ${ahead} at the latest.`,
    none: 'Without a wave: a release before made this update.',
  },
  releases: {
    title: 'Releases',
    table: 'Published agents',
    none: 'Nothing is published here: edge release publish brings releases, and agents in containers follow their image.',
    columns: {
      version: 'Version',
      channels: 'Channels',
      arch: 'Architecture',
      released: 'Released',
      size: 'Size',
      stored: 'Files',
    },
    here: 'here',
    missing: 'deleted here',
    expires: (at: string) => `The signed metadata holds until ${at}.`,
    mb: (bytes: number) => `${number(Math.round(bytes / 1_048_576))} MiB`,
  },
} as const;
