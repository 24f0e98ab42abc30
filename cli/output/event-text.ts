/** Events as they are told: one line each. */
import type { Outputs } from '../service/client.ts';
import type { Table } from '../table/columns.ts';
import { isForPeople, type Format } from '../table/format.ts';
import { shortId } from '../table/short-ids.ts';
import { plainView, recordText, rowsText } from '../table/text.ts';

/** An event, as feeds and webhooks bring it. */
export type Envelope = Outputs['publish_test_event'];

/** What most events have of the thing that they are of. */
interface Subject {
  readonly node_id?: string;
  readonly name?: string;
  readonly cluster_name?: string;
  readonly status?: string;
  readonly exit_code?: number | null;
}

/** Characters of a time, and of a type of event, that stand below each other. The longest type has 38. */
const TIME_CHARS = 24;
const TYPE_CHARS = 38;

function tableOf(nodeName: (id: string) => string): Table<Envelope> {
  return {
    id: ({ id }) => id,
    columns: [
      ['TIME'.padEnd(TIME_CHARS), 'time'],
      ['TYPE'.padEnd(TYPE_CHARS), 'type'],
      ['OF WHAT', (event) => subjectText(event, nodeName)],
    ],
  };
}

/** The headings of such lines, for who reads them as they come on a terminal; nothing for programs. */
export function eventHeadings(format: Format): string {
  return isForPeople(format) && process.stdout.isTTY ? rowsText([], tableOf(shortId), plainView('table')) : '';
}

/** When, what, and of what; or the envelope as JSON. Ends with a newline. */
export function eventText(event: Envelope, format: Format, nodeName: (id: string) => string = shortId): string {
  if (!isForPeople(format)) return recordText(event, format === 'id' ? 'id' : 'ndjson');
  return rowsText([event], tableOf(nodeName), plainView('table')).split('\n').slice(1).join('\n');
}

/** The node that an event is of, or that what it is of is on; null: of none. */
export function nodeOf({ data }: Envelope): string | null {
  const { node_id: node } = data as Subject;
  return typeof node === 'string' ? node : null;
}

/** The node, or whatever else it is of, and how that is now; what an event does not have is left out. */
function subjectText(event: Envelope, nodeName: (id: string) => string): string {
  const { name, cluster_name: cluster, status, exit_code: exitCode } = event.data as Subject;
  const node = nodeOf(event);
  return [
    name ?? (node === null ? null : nodeName(node)),
    cluster == null ? null : `in ${cluster}`,
    status ?? null,
    exitCode == null ? null : `exit code ${exitCode}`,
  ]
    .filter((part) => part !== null)
    .join(' ');
}
