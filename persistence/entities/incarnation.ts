/** In which server, and in which history of it, this database is. */
import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/** One row, written by the database itself: `event_transaction()` adds `xidBase` to the number of a transaction. */
export const DatabaseIncarnation = defineEntity({
  name: 'DatabaseIncarnation',
  tableName: 'database_incarnation',
  properties: {
    name: p.text().primary(),
    number: p.integer(),
    server: p.text(),
    xidBase: p.bigint('string'),
    beganAt: instant(),
  },
});
