/** How a broker is connected. One file an adapter implements it. */
import type { Log } from '../../net/log.ts';
import type { Broker } from '../../../actors/published-event.ts';

export { BATCH_EVENTS_MAX, CONNECT_MS_MAX, PUBLISH_MS_MAX } from '../../../actors/published-event.ts';
export type { Broker, PublishedEvent } from '../../../actors/published-event.ts';

/**
 * Connects. Rejects within CONNECT_MS_MAX when that cannot be done: with an Error whose message tells an operator in
 * one sentence what is wrong, without a credential in it (E4). Leaves nothing behind when it rejects.
 */
export type OpenBroker<Settings> = (settings: Settings, log: Log) => Promise<Broker>;
