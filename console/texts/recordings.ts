/** What recordings of SSH sessions say. */
import { number } from './number.ts';

/** By where they stand. */
export const RECORDINGS = {
  lead: 'What SSH sessions showed. They are kept when their node or their user is deleted, until they are too old.',
  empty: 'Nothing is recorded. Set SSH_RECORDING=pty to record what has a terminal.',
  user: 'SSH username',
  node: 'Nodes, by name or id',
  columns: { user: 'User', node: 'Node', command: 'Command', started: 'Started', length: 'Length', size: 'Size' },
  shell: 'a shell',
  of: (user: string) => `Recording of ${user}`,
  title: 'Recording',
  screen: 'What was shown',
  play: 'Play',
  pause: 'Pause',
  position: 'Position',
  speed: 'Speed',
  times: (speed: number) => `${speed}×`,
  skipIdle: 'Skip waits over 2 s',
  search: 'Find in what was shown',
  next: 'Next',
  previous: 'Previous',
  found: (count: number, isAll: boolean) =>
    count === 0 ? 'Not found.' : `${isAll ? '' : 'More than '}${number(count)} ${count === 1 ? 'place' : 'places'}`,
  truncated: 'It went on: what came after this was left out, as recordings have a largest size.',
  remove: 'Delete',
  removeTitle: 'Delete this recording?',
  removeText: 'What it shows cannot be had again.',
  removed: 'The recording is deleted.',
  none: 'This is no recording that can be played.',
} as const;
