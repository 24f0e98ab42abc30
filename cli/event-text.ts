/** Events as they are told: one line each. */
import type { Outputs } from './client.ts';
import { recordText, rowsText, type Format } from './table.ts';

/** An event, as feeds and webhooks bring it. */
export type Envelope = Outputs['publish_test_event'];

/** When, what, and of the entity what most events have; or the envelope as JSON. Ends with a newline. */
export function eventText(event: Envelope, format: Format): string {
  if (format !== 'table') return recordText(event, 'ndjson');
  const {
    node_id: node,
    cluster_name: cluster,
    status,
    exit_code: exitCode,
  } = event.data as Readonly<Record<string, unknown>>;
  const columns = [event.time, event.type, node, cluster, status, exitCode].map(
    (value) => ['', () => value ?? '-'] as const,
  );
  return rowsText([event], columns, 'table').split('\n').slice(1).join('\n');
}
