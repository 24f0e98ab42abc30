/** The checks of an admin as a table. */
import type { Outputs } from '../service/client.ts';
import { plainText } from './plain-text.ts';
import type { Table } from '../table/columns.ts';
import { rowsText, type View } from '../table/text.ts';
import { wrapped } from '../table/wrapping.ts';

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

/** Each with how it went. What is wrong is told whole, in as many lines as it takes on this terminal. */
export function healthText(checks: readonly Check[], view: View): string {
  const [headings = '', ...lines] = rowsText(checks, TABLE, { ...view, format: 'table', width: null }).split('\n');
  const place = { width: view.width, indent: headings.indexOf('ERROR') };
  const whole = lines.map((line, index) => {
    const told = plainText(checks[index]?.error ?? '');
    return told === '' ? line : `${line.slice(0, -told.length)}${wrapped(told, place)}`;
  });
  return [headings, ...whole].join('\n');
}
