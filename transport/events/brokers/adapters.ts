/** All adapters. Each is loaded only when it is configured, so that nobody pays for the clients of the others. */
import type { Log } from '../../net/log.ts';
import type { Broker } from './broker.ts';
import type { BrokerSettings } from './settings.ts';

/** What connects to the configured broker; null: none is. */
export function brokerOpener(settings: BrokerSettings | null, log: Log): (() => Promise<Broker>) | null {
  return settings === null ? null : () => openBroker(settings, log);
}

/** Connects to the configured broker; see OpenBroker. */
export async function openBroker(settings: BrokerSettings, log: Log): Promise<Broker> {
  switch (settings.adapter) {
    case 'nats':
      return (await import('./nats.ts')).openNats(settings, log);
    case 'kafka':
      return (await import('./kafka.ts')).openKafka(settings, log);
    case 'amqp091':
      return (await import('./amqp.ts')).openAmqp(settings, log);
    case 'redis':
      return (await import('./redis.ts')).openRedis(settings, log);
    case 'mqtt':
      return (await import('./mqtt.ts')).openMqtt(settings, log);
    case 'cloud_a_sns':
      return (await import('./sns.ts')).openSns(settings, log);
    case 'cloud_b_pubsub':
      return (await import('./pubsub.ts')).openPubSub(settings, log);
    default:
      return settings satisfies never;
  }
}
