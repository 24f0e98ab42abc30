/** What the page of events says. */
import { number } from './number.ts';

/** By where they stand. */
export const EVENTS = {
  lead: 'What happens in the fleet, as it happens: the same envelopes that webhooks and brokers get.',
  type: 'Type',
  search: 'Search',
  searchHint: 'a node, a cluster, any word of an event',
  pause: 'Pause',
  resume: 'Go on',
  clear: 'Clear',
  test: 'Publish a test event',
  tested: 'A test event is published.',
  live: 'Live',
  paused: 'Paused: what happens now is shown when you go on.',
  connecting: 'Connecting.',
  waiting: 'There is nothing to show yet.',
  waitingForType: 'There is nothing of this type to show: the latest 10,000 events were looked through.',
  waitingNext: 'Events show up here by themselves.',
  none: 'No event that came is as you asked for.',
  kept: (shown: number, kept: number, max: number) =>
    shown === kept
      ? `${number(kept)} events${kept >= max ? `, the newest ${number(max)}` : ''}`
      : `${number(shown)} of ${number(kept)} events`,
  onlyNewest: (count: number) => `The newest ${number(count)} are drawn: search for others.`,
  columns: { time: 'When', type: 'Type', subject: 'Of what', more: 'Says' },
  untilEnded: 'Both go on until Ctrl-C.',
  envelope: 'Envelope',
  open: (type: string) => `Envelope of ${type}`,
  close: 'Close',
} as const;
