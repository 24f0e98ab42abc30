/** Events as rows of the outbox, written in the transaction of their change (V1). */
import { randomUUID } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { DomainEvent } from '../../actors/events.ts';
import { jsonTexts, jsonTextsOf, plainArray } from './arrays.ts';

/** Inserts events in order. Each gets its UUID v4 here, unique per publish (spec, envelope). */
export async function insertEvents(client: Pick<PoolClient, 'query'>, events: readonly DomainEvent[]): Promise<void> {
  if (events.length === 0) return;
  const ids: string[] = [];
  const types: string[] = [];
  const subjects: string[] = [];
  const times: number[] = [];
  for (const event of events) {
    ids.push(randomUUID());
    types.push(event.type);
    subjects.push(event.subject);
    times.push(event.atMs);
  }
  await client.query({
    name: 'insert-events',
    text: `insert into event (id, type, subject, time, data)
      select id, type, subject, to_timestamp(at / 1000.0), data::json from unnest($1::uuid[], $2::text[], $3::uuid[], $4::float8[], ${jsonTextsOf('$5')}) with ordinality as v(id, type, subject, at, data, n) order by n`,
    values: [plainArray(ids), plainArray(types), plainArray(subjects), plainArray(times), jsonTexts(events.map((event) => event.data))],
  });
}
