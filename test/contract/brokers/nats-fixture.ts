/** Connections to a NATS server, and events for it. */
import type { ExecutionContext } from 'ava';
import { openNats } from '../../../transport/events/brokers/nats.ts';
import { brokerSettings } from '../../support/brokers/settings.ts';
import { silentLog } from '../../support/log.ts';

/** A connection to the server, closed with the test. */
export async function opened(t: ExecutionContext, env: Readonly<Record<string, string>>, log = silentLog) {
  const broker = await openNats(brokerSettings('nats', env), log);
  t.teardown(() => broker.close());
  return broker;
}
