/** What a node measured in the last hour, a point a line. */
import type { Outputs } from '../service/client.ts';
import type { Table } from '../table/columns.ts';

/** A point; null: it was not told. */
export interface HistoryRow {
  readonly at: string;
  readonly cpu_percent: number | null;
  readonly load_percent: number | null;
  readonly memory_percent: number | null;
  readonly disk_percent: number | null;
  readonly received_bytes_per_second: number | null;
  readonly sent_bytes_per_second: number | null;
  readonly agent_bytes: number | null;
}

/** The points, the oldest first. */
export function historyRows(history: Outputs['get_node_metrics_history']): readonly HistoryRow[] {
  return history.at.map((at, place) => ({
    at,
    cpu_percent: history.cpu_percent[place] ?? null,
    load_percent: history.load_percent[place] ?? null,
    memory_percent: history.memory_percent[place] ?? null,
    disk_percent: history.disk_percent[place] ?? null,
    received_bytes_per_second: history.received_bytes_per_second[place] ?? null,
    sent_bytes_per_second: history.sent_bytes_per_second[place] ?? null,
    agent_bytes: history.agent_bytes[place] ?? null,
  }));
}

/** As people see them. */
export const HISTORY_TABLE: Table<HistoryRow> = {
  id: ({ at }) => at,
  columns: [
    ['TIME', 'at'],
    ['CPU', 'cpu_percent', { unit: '%' }],
    ['LOAD', 'load_percent', { unit: '%', drop: 4 }],
    ['MEMORY', 'memory_percent', { unit: '%' }],
    ['DISK', 'disk_percent', { unit: '%', drop: 3 }],
    ['RECEIVED', 'received_bytes_per_second', { drop: 2 }],
    ['SENT', 'sent_bytes_per_second', { drop: 2 }],
    ['AGENT', 'agent_bytes', { drop: 5 }],
  ],
};
