/** The outbox: every event, in the transaction of its change (V1). */
import { defineEntity, p } from '@mikro-orm/core';
import type { EventType } from '../../actors/events.ts';
import { instant } from './columns.ts';

/**
 * `txid` and `seq` are the database's own: together they order events by transaction, over all incarnations of the
 * database.
 */
export const Event = defineEntity({
  name: 'Event',
  tableName: 'event',
  properties: {
    txid: p.string().columnType('xid8').primary().defaultRaw('event_transaction()'),
    seq: p.bigint('string').primary().generated('identity'),
    id: p.uuid(),
    type: p.text().$type<EventType>(),
    subject: p.uuid(),
    time: instant(),
    /** Null in rows of before there was this column. */
    storedAt: instant().nullable().defaultRaw('now()'),
    data: p.json<Readonly<Record<string, unknown>>>().columnType('json'),
  },
});
