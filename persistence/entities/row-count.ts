/** Row counts of the long lists, kept by triggers. */
import { defineEntity, p } from '@mikro-orm/core';

/**
 * The sum of `n` over the slots is the number of rows of the table, or, under its name with `:deleted`, of those ever
 * deleted.
 */
export const RowCount = defineEntity({
  name: 'RowCount',
  tableName: 'row_count',
  properties: { tableName: p.text().primary(), slot: p.integer().primary(), n: p.bigint('string') },
});
