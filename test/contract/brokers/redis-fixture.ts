/** Connections to Redis, and what arrives at its subscribers. */
import { openRedis } from '../../../transport/events/brokers/redis.ts';
import { brokerEvent } from '../../support/brokers/events.ts';
import { connectionsOf } from './contract.ts';

/** Connections to the server, closed with their test. */
export const opened = connectionsOf('redis', openRedis);

/** The same, to servers that are asked all the time what they are. */
export const openedAsking = connectionsOf('redis', (settings, log) => openRedis(settings, log, 20));

/** Events and what a subscriber should see of them. */
export function events(...types: readonly Parameters<typeof brokerEvent>[0][]) {
  const made = types.map((type) => brokerEvent(type, 'subject'));
  return { made, seen: made.map(({ type, text }) => ({ channel: type, text })) };
}
