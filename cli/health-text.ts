/** The checks of an admin as a table. */
import type { Outputs } from './client.ts';
import type { Table } from './table/columns.ts';
import { rowsText, type View } from './table/text.ts';

type Check = Outputs['check_admin_health']['checks'][number];

const TABLE: Table<Check> = {
  id: ({ name }) => name,
  columns: [
    ['CHECK', 'name'],
    ['STATE', ({ healthy }) => (healthy ? 'pass' : 'fail'), { tone: ({ healthy }) => (healthy ? 'good' : 'bad') }],
    ['MS', 'duration_ms'],
    ['ERROR', 'error'],
  ],
};

/** Each with how it went. What is wrong is told whole, however narrow the terminal is. */
export function healthText(checks: readonly Check[], view: View): string {
  return rowsText(checks, TABLE, { ...view, format: 'table', width: null });
}
