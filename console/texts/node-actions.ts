/** What is said of things done to nodes. */
import { number } from './number.ts';

const nodes = (count: number): string => (count === 1 ? 'one node' : `${number(count)} nodes`);

/** By where they stand. */
export const NODE_ACTIONS = {
  bar: 'What to do with the chosen nodes',
  run: 'Run a command',
  runTooMany: (max: number) =>
    `At most ${number(max)} chosen nodes are run on: choose fewer, or run it by cluster, label and status.`,
  move: 'Move',
  moveLabel: 'Move to another cluster',
  moveTo: 'To the cluster',
  moveNext: 'Move …',
  moveTitle: (count: number, cluster: string) => `Move ${nodes(count)} to ${cluster}`,
  moveText:
    'Each leaves the network of its cluster and enters the other one, under another hostname. Its recovery key is cleared.',
  moving: (cluster: string) => `Moving to ${cluster}`,
  update: 'Update',
  updateTitle: (count: number) => `Update ${nodes(count)}`,
  updateText:
    'Those that are healthy and take part are updated to the newest stable version. An agent restarts; what it runs goes on.',
  updated: (count: number) => `An update of ${nodes(count)} was asked for.`,
  updateTooMany: (max: number) => `At most ${number(max)} nodes are updated by one request: choose fewer.`,
  label: 'Label',
  labelLabel: 'Set and remove labels',
  labelField: 'Labels',
  labelHint: 'env=prod gpu old-',
  labelHelp: 'KEY=VALUE or KEY sets, KEY- removes.',
  labelNext: 'Label …',
  labelTitle: (count: number) => `Label ${nodes(count)}`,
  labelling: (changes: string) => `Labelling ${changes}`,
  alias: 'Name',
  aliasLabel: 'Give the node a name',
  aliasField: 'Alias',
  aliasHelp: 'Small letters, digits and hyphens; one of its kind in the cluster.',
  aliasNext: 'Name …',
  aliasTitle: (name: string) => `Name a node ${name}`,
  aliasText: 'It is reached by this name too, beside those that it has.',
  aliasing: (name: string) => `Naming ${name}`,
  remove: 'Delete',
  removeTitle: (count: number) => `Delete ${nodes(count)}`,
  removeText:
    'Open executions are dropped, the agent is cut off at once and its token is revoked. This cannot be taken back.',
  removing: 'Deleting',
  done: (done: number, total: number) => `${number(done)} of ${number(total)}`,
  over: (done: number, total: number, failed: number) =>
    failed === 0 && done === total
      ? `Done: ${nodes(total)}.`
      : `${number(done - failed)} of ${number(total)} done, ${number(failed)} failed${done < total ? `, ${number(total - done)} not tried` : ''}.`,
  stop: 'Stop',
  again: (count: number) => `Try ${count === 1 ? 'it' : `these ${number(count)}`} again`,
  away: 'Close',
  failed: 'What failed, and why',
  more: (count: number) => `and ${number(count)} more`,
} as const;
