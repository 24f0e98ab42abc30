/**
 * The five JetStream streams in which events are kept. One that is missing is created: on file, for STREAM_DAYS or
 * STREAM_BYTES_MAX, whichever comes first. One that exists is the operator's: its limits, replicas and further subjects
 * stay, and only a subject that it lacks is added.
 */
import {
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
  StorageType,
  type JetStreamManager,
} from '@nats-io/jetstream';
import { errors, nanos, type NatsConnection } from '@nats-io/transport-node';
import type { Log } from '../../net/log.ts';

/** By name of the stream: its subjects. Source: docs/brokers.md. */
export const STREAMS: Readonly<Record<string, readonly string[]>> = {
  EDGE_NODES_EVENTS: ['edge.node.>', 'edge.enrollment_key.>'],
  EDGE_COMMANDS_EVENTS: ['edge.command_execution.>'],
  EDGE_SELF_UPDATES_EVENTS: ['edge.self_update_request.>'],
  EDGE_SSH_EVENTS: ['edge.ssh_username.>'],
  EDGE_CORE_EVENTS: ['edge.core.test'],
};

/**
 * How long a stream that we created keeps events, in days: as long as the outbox does by default
 * (EVENT_RETENTION_DAYS).
 */
export const STREAM_DAYS = 7;

/**
 * How much a stream that we created keeps, in bytes: some 200,000 events. The server sets it aside, and refuses a
 * stream that it has no room for.
 */
export const STREAM_BYTES_MAX = 256 * 1024 * 1024;

const DAY_MS = 86_400_000;

/**
 * Sees to it that all streams take their subjects, waiting `answerMs` for each answer. A user who may not look at
 * streams is trusted to have been given them. Rejects with the name of a stream and what `reasonOf` makes of the error.
 */
export async function provideStreams(
  connection: NatsConnection,
  answerMs: number,
  log: Log,
  reasonOf: (error: unknown) => string,
): Promise<void> {
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: answerMs });
  await Promise.all(
    Object.entries(STREAMS).map(([name, subjects]) =>
      provideStream(manager, name, subjects).catch((error: unknown) => {
        if (!isForbidden(error)) throw new Error(`stream ${name}: ${reasonOf(error)}`, { cause: error });
        log.warn({ stream: name }, 'This user of NATS may not manage streams, so they are taken to exist.');
      }),
    ),
  );
}

async function provideStream(manager: JetStreamManager, name: string, subjects: readonly string[]): Promise<void> {
  const present = await manager.streams.info(name).catch((error: unknown) => {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return null;
    throw error;
  });
  if (present === null) {
    await manager.streams.add({
      name,
      subjects: [...subjects],
      storage: StorageType.File,
      max_age: nanos(STREAM_DAYS * DAY_MS),
      max_bytes: STREAM_BYTES_MAX,
    });
    return;
  }
  const lacking = subjects.filter((subject) => !present.config.subjects.some((pattern) => covers(pattern, subject)));
  if (lacking.length > 0) await manager.streams.update(name, { subjects: [...present.config.subjects, ...lacking] });
}

/**
 * Whether every subject of `subject` (which may itself end in `>`) matches the pattern. Source: NATS documentation,
 * subject-based messaging.
 */
export function covers(pattern: string, subject: string): boolean {
  const wanted = subject.split('.');
  const given = pattern.split('.');
  for (const [index, token] of given.entries()) {
    if (token === '>') return wanted.length > index;
    if (wanted[index] === undefined || wanted[index] === '>' || (token !== '*' && token !== wanted[index]))
      return false;
  }
  return given.length === wanted.length;
}

/** The client tells of a refused request in the error's cause. */
function isForbidden(error: unknown): boolean {
  return (
    error instanceof errors.PermissionViolationError ||
    (error instanceof Error && error.cause instanceof errors.PermissionViolationError)
  );
}
