/** An event on its way to a broker, and what a broker is to this system. */
import type { Topic } from './event-topics.ts';
import type { EventType } from './events.ts';

/** An event on its way out. */
export interface PublishedEvent {
  /** The envelope's id: consumers drop repeats by it. */
  readonly id: string;
  readonly type: EventType;
  /**
   * The entity that it tells of: events of one subject stay in order. The partition key, where a broker has partitions.
   */
  readonly subject: string;
  readonly topic: Topic;
  /** CORE_NAME. */
  readonly coreName: string;
  /** The whole envelope as JSON. */
  readonly text: string;
}

/**
 * One live connection to a broker (or what stands for one). It never reconnects by itself and queues nothing while it
 * is away: when it is lost or a publish fails, its channel closes it, waits, and opens another. The outbox is the
 * buffer.
 */
export interface Broker {
  /**
   * Publishes a batch of at most BATCH_EVENTS_MAX, keeping the order of each subject. Resolves when the broker has
   * confirmed all of it, or, where the protocol knows no confirmation, when the broker has read it (a flush answered).
   * Rejects within PUBLISH_MS_MAX at the latest; any part of the batch may have arrived then, and all of it is
   * published again. An event that the broker can never take is left out with an error line, as it would hold up all
   * others.
   */
  publish(events: readonly PublishedEvent[]): Promise<void>;
  /**
   * Resolves, once, with the reason when the connection is gone other than by `close`. Stays open where there is no
   * connection to lose.
   */
  readonly lost: Promise<Error>;
  /** Ends the connection and all that belongs to it. Never rejects. */
  close(): Promise<void>;
}

/** Events in one publish, at most. */
export const BATCH_EVENTS_MAX = 500;

/** A publish that is not confirmed after this, in ms, counts as failed. */
export const PUBLISH_MS_MAX = 10_000;

/** A connection that is not up after this, in ms, counts as failed. */
export const CONNECT_MS_MAX = 10_000;
