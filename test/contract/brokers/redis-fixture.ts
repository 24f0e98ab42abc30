/** Connections to Redis, and what arrives at its subscribers. */
import type { ExecutionContext } from 'ava';
import { openRedis } from '../../../transport/events/brokers/redis.ts';
import { brokerEvent } from '../../support/brokers/events.ts';
import { brokerSettings } from '../../support/brokers/settings.ts';
import { silentLog } from '../../support/log.ts';

/** A connection to the server, closed with the test. */
export async function opened(t: ExecutionContext, env: Readonly<Record<string, string>>, log = silentLog) {
  const broker = await openRedis(brokerSettings('redis', env), log);
  t.teardown(() => broker.close());
  return broker;
}

/** Events and what a subscriber should see of them. */
export function events(...types: readonly Parameters<typeof brokerEvent>[0][]) {
  const made = types.map((type) => brokerEvent(type, 'subject'));
  return { made, seen: made.map(({ type, text }) => ({ channel: type, text })) };
}
