/** Settings of a broker as an operator would give them. */
import { chooseBroker } from '../../../settings/broker-choice.ts';
import { EVENT_BROKER_SETTINGS } from '../../../settings/event-broker.ts';
import { readSettings } from '../../../settings/environment.ts';
import type { BrokerSettings } from '../../../transport/events/brokers/settings.ts';

/** What these EVENT_BROKER_ variables mean to an adapter. Throws their problems. */
export function brokerSettings<Name extends BrokerSettings['adapter']>(
  adapter: Name,
  env: Readonly<Record<string, string>>,
): Extract<BrokerSettings, { adapter: Name }> {
  const read = readSettings(EVENT_BROKER_SETTINGS, {
    EVENT_BROKER_ENABLED: 'true',
    EVENT_BROKER_ADAPTER: adapter,
    ...env,
  });
  if (!read.ok) throw new Error(read.problems.join('\n'));
  const chosen = chooseBroker(read.settings);
  if (!chosen.ok) throw new Error(chosen.problems.join('\n'));
  return chosen.broker as Extract<BrokerSettings, { adapter: Name }>;
}
