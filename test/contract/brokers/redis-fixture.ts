/** Connections to Redis, and what arrives at its subscribers. */
import type { Broker } from '../../../transport/events/brokers/broker.ts';
import { openRedis } from '../../../transport/events/brokers/redis.ts';
import { brokerEvent } from '../../support/brokers/events.ts';
import { brokerSettings } from '../../support/brokers/settings.ts';
import type { Scope } from '../../support/scope.ts';
import { connectionsOf, type Env } from './contract.ts';

/** Connections to the server, closed with their test. */
export const opened = connectionsOf('redis', openRedis);

/** The same, to servers that are asked all the time what they are. */
export const openedAsking = async (scope: Scope, env: Env): Promise<Broker> => adapterAsking(env)(scope);

/** The same, each by one adapter, which knows of the connections before. */
export function adapterAsking(env: Env): (scope: Scope) => Promise<Broker> {
  const settings = brokerSettings('redis', env);
  const open = connectionsOf('redis', (_, log) => openRedis(settings, log, 20));
  return async (scope) => open(scope, env);
}

/** Events and what a subscriber should see of them. */
export function events(...types: readonly Parameters<typeof brokerEvent>[0][]) {
  const made = types.map((type) => brokerEvent(type, 'subject'));
  return { made, seen: made.map(({ type, text }) => ({ channel: type, text })) };
}
