/** What the overview says of brokers, relays and webhooks in trouble. */
import { number } from './number.ts';

/** By where they stand. */
export const TROUBLES_TEXTS = {
  title: 'Brokers, relays and webhooks in trouble',
  none: 'None of them is in trouble.',
  untold: (names: readonly string[]) => `Of a release that does not tell of its broker and relay: ${names.join(', ')}.`,
  adminsNotRead: 'Brokers and relays took too long to read.',
  webhooksNotRead: 'Webhooks took too long to read.',
  waiting: (count: number, max: number) =>
    `${number(count)}${count >= max ? '+' : ''} ${count === 1 ? 'delivery waits' : 'deliveries wait'}, for`,
  dropped: (count: number, max: number) => `${number(count)}${count >= max ? '+' : ''} given up in the last hour`,
  status: (code: number) => `status ${code}`,
  allWaiting: (count: number) => `All ${number(count)} that wait`,
  allDropped: (count: number) => `All ${number(count)} that gave up`,
} as const;
