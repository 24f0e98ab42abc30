/**
 * What errors of the Kafka client mean, in words for an operator. The client wraps errors in others: the reason is
 * somewhere inside.
 */
import { reasonOf } from './reason.ts';
import { TooManyIterations } from './kafka-sign-in.ts';
import type { KafkaSettings } from './settings.ts';

/**
 * Codes of Kafka when a topic is missing, being created, or without a leader yet. Source: Kafka protocol guide, error
 * codes 3 and 5.
 */
const TOPIC_CODES: readonly unknown[] = ['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE'];

/** By the codes of Kafka. Source: Kafka protocol guide, error codes. */
const REFUSALS: Readonly<Record<string, string>> = {
  UNSUPPORTED_SASL_MECHANISM: 'it does not offer the mechanism of EVENT_BROKER_KAFKA_SASL_MECHANISM',
  ILLEGAL_SASL_STATE: 'it wants no user name there: EVENT_BROKER_KAFKA_USERNAME should not be set',
  TOPIC_AUTHORIZATION_FAILED: 'the user of EVENT_BROKER_KAFKA_USERNAME may not write to all topics',
  CLUSTER_AUTHORIZATION_FAILED: 'the user of EVENT_BROKER_KAFKA_USERNAME may not write to it',
  NOT_ENOUGH_REPLICAS: 'too few replicas are in sync',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'too few replicas are in sync',
  REQUEST_TIMED_OUT: 'its replicas do not answer',
};

/** Of a broker that ended a connection, as a part of a sentence. */
export const HUNG_UP = 'it closed the connection';

/** Whether the error says that a topic is not there (yet). */
export function lacksTopic(error: unknown): boolean {
  return chain(error).some(
    (one) => TOPIC_CODES.includes(field(one, 'apiId')) || one.message.startsWith('Unknown topic '),
  );
}

/** Whether a connection ended, be it at the broker or by us: the client tells of both alike. */
export function isCut(error: unknown): boolean {
  return chain(error).some(
    (one) => one.message === 'Connection closed' || one.message.startsWith('Connection closed '),
  );
}

/** Whether a message is larger than the server takes. */
export function isTooLarge(error: unknown): boolean {
  return chain(error).some((one) => field(one, 'apiId') === 'MESSAGE_TOO_LARGE');
}

/**
 * Why it cannot be used at all, as a part of a sentence without full stop. A server that wants TLS or a user name may
 * just hang up, so these are asked about.
 */
export function refusalReason(error: unknown, settings: KafkaSettings): string {
  const reason = kafkaReason(error, settings);
  if (reason !== HUNG_UP) return reason;
  return `${reason}; ${settings.sasl ? 'EVENT_BROKER_KAFKA_SSL may have to be true' : 'EVENT_BROKER_KAFKA_USERNAME may be missing'}`;
}

/** The reason as a part of a sentence, without full stop. */
export function kafkaReason(error: unknown, settings: KafkaSettings): string {
  const errors = chain(error);
  const said = (message: string) => errors.some((one) => one.message === message);
  for (const one of errors) {
    const known = REFUSALS[String(field(one, 'apiId'))];
    if (known !== undefined) return known;
  }
  if (lacksTopic(error)) return 'a topic is missing';
  if (said('Broker requires TLS.')) return 'it speaks TLS there: EVENT_BROKER_KAFKA_SSL should be true';
  if (said('TLS handshake failed. Please verify the broker supports TLS.'))
    return 'it does not speak TLS there, which EVENT_BROKER_KAFKA_SSL asks for';
  if (said('Connection closed')) return HUNG_UP;
  const excess = errors.find((one) => one instanceof TooManyIterations);
  if (excess !== undefined) return excess.message;
  if (errors.some((one) => field(one, 'code') === 'PLT_KFK_AUTHENTICATION'))
    return 'it refuses EVENT_BROKER_KAFKA_USERNAME or EVENT_BROKER_KAFKA_PASSWORD';
  const foreign = foreignAddress(errors, settings.brokers);
  return `${foreign === undefined ? '' : `it names ${foreign} as its address, and `}${reasonOf(errors.at(-1) ?? error)}`;
}

/**
 * Of the address that was dialled, when it is not one of the settings: brokers name their own (advertised.listeners),
 * which may be wrong for us.
 */
function foreignAddress(errors: readonly Error[], brokers: readonly string[]): string | undefined {
  const addresses = errors.map(
    (one) => /^Connection to (?<address>\S+) (?:failed|timed out)/u.exec(one.message)?.groups?.['address'],
  );
  return addresses.find((address) => address !== undefined && !brokers.includes(address));
}

/** The error and all those inside of it, outermost first. */
function chain(error: unknown): Error[] {
  if (!(error instanceof Error)) return [];
  return [error, ...(error instanceof AggregateError ? error.errors : []).flatMap(chain), ...chain(error.cause)];
}

function field(error: Error, name: string): unknown {
  return (error as unknown as Readonly<Record<string, unknown>>)[name];
}
