/** Units that wait to be stored, and how much of them goes into one transaction. */
import type { DomainEvent } from '../../actors/event-catalogue.ts';
import type { Change } from '../../actors/step.ts';
import type { Targeting } from '../../actors/targeting-schema.ts';
import type { RefusedChange } from '../../supervisors/ports.ts';
import type { HotWrite } from '../../actors/writes.ts';
import type { Labels } from '../../transport/protocol/labels.ts';
import type { HotChange, Unit } from './hot-batch.ts';

/**
 * Rows in one transaction of the group commit, at most. Larger ones were no faster (benchmark B1), and they hold locks
 * longer.
 */
export const BATCH_CHANGES_MAX = 2_000;

/**
 * Text in one transaction, about, in bytes: results and events. By their number alone 2,000 results of 1 MiB would be 2
 * GiB in one statement. At the rate that a small server stores (20 MiB/s of scripts, which it compresses, 50 of others)
 * it is 0.2 to 0.4 s. A change that is larger is stored beside all others.
 */
export const BATCH_BYTES_MAX = 8_388_608;

/**
 * What a row costs besides its texts, and what an event's data comes to besides what may be long in it, in bytes:
 * measured on events of executions.
 */
const ROW_BYTES = 200;
const EVENT_BYTES = 800;

/**
 * What a create with an Idempotency-Key sends once more, as a share of its texts: its answer has them too, as base64 of
 * JSON, whose escapes are some more (RFC 4648: 4 characters for 3 bytes).
 */
const SEALED_SHARE = 1.5;

/** The rest of that answer. */
const RECORD_BYTES = 800;

/** A UUID in a list. */
const ID_BYTES = 39;

/** One actor's step, and who waits for it. */
export interface Waiting {
  readonly unit: Unit;
  /** Estimated. */
  readonly bytes: number;
  /** By the monotonic clock. */
  readonly arrivedMs: number;
  readonly resolve: (refused: readonly RefusedChange[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Changes in their order, as many at a time as one transaction takes, with about how many bytes they send. A node has
 * up to 256 executions that may end in one step, each with its script in two events.
 */
export function inTransactions(
  changes: readonly HotChange[],
): readonly { readonly changes: readonly HotChange[]; readonly bytes: number }[] {
  const parts: { changes: HotChange[]; bytes: number }[] = [];
  let part = { changes: [] as HotChange[], bytes: 0 };
  for (const change of changes) {
    const bytes = bytesOf(change);
    if (part.changes.length > 0 && part.bytes + bytes > BATCH_BYTES_MAX) {
      parts.push(part);
      part = { changes: [], bytes: 0 };
    }
    part.changes.push(change);
    part.bytes += bytes;
  }
  return [...parts, part];
}

/** About how many bytes a change sends to the database. */
export function bytesOf({ write, events, idempotencyRecord }: HotChange): number {
  const text = textOf(write);
  let bytes = text + rowsOf(write) * ROW_BYTES;
  if (idempotencyRecord !== undefined) bytes += Math.ceil(text * SEALED_SHARE) + RECORD_BYTES;
  for (const event of events) bytes += EVENT_BYTES + longIn(event);
  return bytes;
}

/** Characters of what may be long in an event: the script of an execution, the labels of a node. */
function longIn({ data }: DomainEvent): number {
  if ('command_text' in data) return data.command_text.length;
  return 'labels' in data ? charsIn(data.labels) : 0;
}

function charsIn(labels: Labels): number {
  return Object.entries(labels).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}

/** How many from the front go into one transaction: at least one. */
export function countOfBatch(queue: readonly Waiting[]): number {
  let changes = 0;
  let bytes = 0;
  let count = 0;
  for (const { unit, bytes: more } of queue) {
    if (count > 0 && (changes >= BATCH_CHANGES_MAX || bytes + more > BATCH_BYTES_MAX)) break;
    changes += unit.changes.length;
    bytes += more;
    count += 1;
  }
  return count;
}

/** Changes of all of them. */
export function changesOf(waiting: readonly Waiting[]): readonly Change[] {
  return waiting.flatMap((one) => one.unit.changes);
}

function rowsOf(write: HotWrite): number {
  return write.kind === 'command-created' ? 1 + write.executions.length : 1;
}

/** Characters; most texts are of one byte each. */
function textOf(write: HotWrite): number {
  switch (write.kind) {
    case 'execution-finished':
      return write.ending.output?.length ?? 0;
    case 'output-part':
      return write.text.length;
    case 'command-created':
      return write.command.text.length + charsOf(write.command.targeting);
    case 'delivery-made':
    case 'delivery-attempted':
      return write.attempt.type === 'answered' ? (write.attempt.answer?.length ?? 0) : write.attempt.error.length;
    case 'node-labelled':
      return charsIn(write.labels);
    case 'self-update-failed':
    case 'self-update-ended':
      return write.error?.length ?? 0;
    case 'self-update-asked':
    case 'self-update-triggered':
    case 'execution-sent':
    case 'execution-cancel-requested':
    case 'command-cancel-requested':
    case 'node-status':
    case 'ssh-verified':
    case 'delivery-reopened':
    default:
      return 0;
  }
}

/** Ids are not looked at: there may be tens of thousands. */
function charsOf({ node_ids: ids = [], ...rest }: Targeting): number {
  return ids.length * ID_BYTES + JSON.stringify(rest).length;
}
