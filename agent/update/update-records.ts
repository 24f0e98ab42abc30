/**
 * Which self-update requests this machine was asked for, and what came of them: on the disk before anything is done, so
 * that none is done twice.
 */
import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import type { Log } from '../../transport/net/log.ts';
import { Uuid } from '../../transport/protocol/ids.ts';
import { UPDATE_ERROR_CHARS_MAX, UPDATE_VERSION_CHARS_MAX } from '../../transport/protocol/limits.ts';
import { UpdateOutcome } from '../../transport/protocol/updates.ts';
import { writeDurably } from '../durable-file.ts';
import { systemProblem } from '../problem.ts';

/**
 * Requests that are remembered; the oldest make room. An admin asks about one for as long as it is open, one at a time.
 */
export const RECORDS_MAX = 16;

/** A file larger than this is none of ours, in bytes: every text in it at its longest, as JSON. */
const FILE_BYTES_MAX = 1_048_576;

/**
 * One request. `asked`: the updater may have been told, and what it said is not known. `from`: the version that ran
 * then; `at_ms`: Unix time of it.
 */
export const UpdateRecord = z.object({
  request: Uuid,
  state: z.enum(['asked', 'accepted', 'refused']),
  error: z.string().max(UPDATE_ERROR_CHARS_MAX).nullable(),
  from: z.string().max(UPDATE_VERSION_CHARS_MAX),
  at_ms: z.int(),
  /** What the updater says came of it; null while that is not known. */
  outcome: UpdateOutcome.omit({ request: true }).nullable(),
  /** An admin has stored the outcome. */
  is_told: z.boolean(),
});
export type UpdateRecord = z.infer<typeof UpdateRecord>;

/** No method throws. */
export class UpdateRecords {
  readonly #path: string;
  readonly #log: Log;
  #records: readonly UpdateRecord[];

  /** Reads what is kept at `path`. What cannot be read is given up with a line of the log. */
  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
    this.#records = this.#read();
  }

  /** In the order in which they came. */
  get all(): readonly UpdateRecord[] {
    return this.#records;
  }

  find(request: string): UpdateRecord | null {
    return this.#records.find((record) => record.request === request) ?? null;
  }

  /** Stores one more, or the next state of one. False: it is known until this agent ends, and no longer. */
  put(record: UpdateRecord): boolean {
    const others = this.#records.filter(({ request }) => request !== record.request);
    const at = this.#records.findIndex(({ request }) => request === record.request);
    const next = at < 0 ? [...others, record] : others.toSpliced(at, 0, record);
    this.#records = next.length > RECORDS_MAX ? withoutOne(next) : next;
    try {
      writeDurably(this.#path, `${JSON.stringify({ requests: this.#records }, null, 1)}\n`);
      return true;
    } catch (error) {
      this.#log.warn({ problem: systemProblem(error) }, 'What became of an update is kept in memory alone');
      return false;
    }
  }

  /** One by one: a newer agent may have written what this one does not know. */
  #read(): readonly UpdateRecord[] {
    try {
      if (statSync(this.#path).size > FILE_BYTES_MAX) throw new Error('it is too large');
      const file = z.object({ requests: z.array(z.unknown()) }).parse(JSON.parse(readFileSync(this.#path, 'utf8')));
      return file.requests
        .map((record) => UpdateRecord.safeParse(record).data)
        .filter((record) => record !== undefined)
        .slice(-RECORDS_MAX);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#log.warn({ problem: 'their file cannot be read' }, 'The updates of this machine are forgotten');
      return [];
    }
  }
}

/** The oldest goes; one whose outcome an admin waits for goes last, and the newest never. */
function withoutOne(records: readonly UpdateRecord[]): readonly UpdateRecord[] {
  const isOver = ({ state, is_told: isTold }: UpdateRecord) => state === 'refused' || isTold;
  const at = records.slice(0, -1).findIndex(isOver);
  return records.toSpliced(Math.max(0, at), 1);
}
