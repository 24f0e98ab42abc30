/** Events as rows of the outbox, written in the transaction of their change (V1). */
import { randomUUID } from 'node:crypto';
import type { DomainEvent } from '../../actors/event-catalogue.ts';
import { joinedTexts, jsonTextsOf, plainArray } from './arrays.ts';
import { missedBy, type Client, type Statement } from './statement.ts';

/** Events with their data as JSON text. */
export interface SerializedEvent {
  readonly event: DomainEvent;
  readonly text: string;
}

/**
 * Events serialized in one turn of the event loop, and characters of their data, at most: about 2 ms, so that the
 * connection is served in between.
 */
const SERIALIZED_PER_TURN_MAX = 500;
const CHARS_PER_TURN_MAX = 1_048_576;

/**
 * Data of the events of one statement, in characters, most of which are a byte each; an event that is larger has one by
 * itself. A server that compresses them stores some 20 MiB in a second, and has 2.5 s for a statement
 * (STATEMENT_MS_MAX), also beside other work.
 */
export const STATEMENT_CHARS_MAX = 4_194_304;

/**
 * Words events in order, as many at a time as one statement takes, a slice a turn: begun while the database still works
 * on the rows, it costs a batch no time of its own.
 */
export async function* serializedEvents(
  events: readonly DomainEvent[],
): AsyncGenerator<readonly SerializedEvent[], void, undefined> {
  let group: SerializedEvent[] = [];
  let chars = 0;
  let [inTurn, charsInTurn] = [0, 0];
  for (const event of events) {
    const text = JSON.stringify(event.data);
    if (group.length > 0 && chars + text.length > STATEMENT_CHARS_MAX) {
      yield group;
      group = [];
      chars = 0;
    }
    group.push({ event, text });
    chars += text.length;
    inTurn += 1;
    charsInTurn += text.length;
    if (inTurn === SERIALIZED_PER_TURN_MAX || charsInTurn > CHARS_PER_TURN_MAX) {
      await new Promise(setImmediate);
      [inTurn, charsInTurn] = [0, 0];
    }
  }
  if (group.length > 0) yield group;
}

/**
 * Inserts events in order. Each that has no id gets its UUID v4 here, unique per publish (docs/events.md, What). The
 * id of the transaction is asked for once, not by the default once a row.
 */
export async function insertEvents(client: Client, events: readonly DomainEvent[]): Promise<void> {
  for await (const serialized of serializedEvents(events))
    for (const statement of eventStatements(serialized)) await missedBy(client, statement);
}

/** The statement that inserts them in order; none for none. */
export function eventStatements(events: readonly SerializedEvent[]): readonly Statement[] {
  if (events.length === 0) return [];
  const ids: string[] = [];
  const types: string[] = [];
  const subjects: string[] = [];
  const times: number[] = [];
  const texts: string[] = [];
  for (const { event, text } of events) {
    ids.push(event.id ?? randomUUID());
    types.push(event.type);
    subjects.push(event.subject);
    times.push(event.atMs);
    texts.push(text);
  }
  const inserted: Statement = {
    name: 'insert-events',
    text: `insert into event (txid, id, type, subject, time, data)
      select (select event_transaction()), id, type, subject, to_timestamp(at / 1000.0), data::json from unnest($1::uuid[], $2::text[], $3::uuid[], $4::float8[], ${jsonTextsOf('$5')}) with ordinality as v(id, type, subject, at, data, n) order by n`,
    values: [plainArray(ids), plainArray(types), plainArray(subjects), plainArray(times), joinedTexts(texts)],
  };
  return [inserted];
}
