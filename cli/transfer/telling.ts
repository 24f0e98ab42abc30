/** What is told of a transfer: a line a machine as it ends, and how it went in all. */
import { tell, write } from '../output/output.ts';
import { plainText } from '../output/plain-text.ts';
import type { Format } from '../table/format.ts';
import { rowsText, plainView } from '../table/text.ts';
import type { Table } from '../table/columns.ts';
import { bytesText, digestText } from './bytes.ts';
import type { FileEnd, MachineEnd } from './ends.ts';

/** A machine as programs read it. */
interface Row {
  readonly node_id: string;
  readonly name: string;
  readonly status: MachineEnd['status'];
  readonly problem: string | null;
  readonly files: readonly {
    readonly path: string;
    readonly bytes: number;
    readonly sha256: string;
    readonly went_on_at: number;
    readonly was_there: boolean;
  }[];
}

const TABLE: Table<Row> = { id: ({ node_id: id }) => id, columns: [] };

/** Tells one machine, now; JSON as one document comes at the end, with all of them. */
export async function tellMachine(end: MachineEnd, format: Format): Promise<void> {
  if (end.problem !== null) tell(`${end.name}: ${end.problem}`);
  if (format === 'ndjson' || (format === 'id' && end.status === 'done'))
    await write(rowsText([rowOf(end)], TABLE, plainView(format)));
  if ((format === 'table' || format === 'wide') && end.files.length > 0)
    await write(`${plainText(`${end.name}: ${filesText(end.files)}`)}\n`);
}

/** Tells how it went in all, on stderr; and the document that holds everything. */
export async function tellAll(ends: readonly MachineEnd[], format: Format, elapsedMs: number): Promise<void> {
  if (format === 'json') await write(rowsText(ends.map(rowOf), TABLE, plainView(format)));
  const count = (status: MachineEnd['status']): number => ends.filter((end) => end.status === status).length;
  const bytes = ends.flatMap(({ files }) => files).reduce((sum, file) => sum + moved(file), 0);
  const seconds = elapsedMs / 1_000;
  tell(
    [
      `${count('done')} of ${ends.length} done`,
      count('failed') > 0 && `${count('failed')} failed`,
      count('unfinished') > 0 && `${count('unfinished')} not reached to the end`,
      bytesText(bytes),
      `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`,
    ]
      .filter(Boolean)
      .join(', '),
  );
}

function moved({ bytes, wentOnAt, wasThere }: FileEnd): number {
  return wasThere ? 0 : bytes - wentOnAt;
}

function filesText(files: readonly FileEnd[]): string {
  return files
    .map(({ path, bytes, sha256, wentOnAt, wasThere }) => {
      const how = wasThere ? ', was there' : wentOnAt > 0 ? `, went on at ${bytesText(wentOnAt)}` : '';
      return `${path} (${bytesText(bytes)}, SHA-256 ${digestText(sha256)}${how})`;
    })
    .join(', ');
}

function rowOf({ node, name, status, problem, files }: MachineEnd): Row {
  return {
    node_id: node,
    name,
    status,
    problem,
    files: files.map(({ path, bytes, sha256, wentOnAt, wasThere }) => ({
      path,
      bytes,
      sha256,
      went_on_at: wentOnAt,
      was_there: wasThere,
    })),
  };
}
