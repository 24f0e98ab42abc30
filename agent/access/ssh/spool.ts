/** Recordings of SSH sessions on this machine, from their first byte until an admin has them. */
import {
  createReadStream,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import { z } from 'zod';
import { Uuid } from '../../../transport/protocol/ids.ts';
import { systemProblem } from '../../problem.ts';

/**
 * Bytes of all recordings that wait here. Above it none is begun and those under way are cut: a disk that fills would
 * stop everything else.
 */
export const SPOOL_BYTES_MAX = 268_435_456;

/** What is known of a recording beside its text. */
const Sidecar = z.strictObject({
  id: Uuid,
  ssh_username_id: Uuid,
  username: z.string(),
  /** Unix time. */
  started_at_ms: z.int(),
  duration_ms: z.int(),
  width: z.int(),
  height: z.int(),
  /** Null: a shell. */
  command: z.string().nullable(),
  /** The session went on behind its end. */
  truncated: z.boolean(),
});

/** Whose session, when and what. */
export type RecordingSidecar = z.infer<typeof Sidecar>;

/** A recording that is whole. */
export type FinishedRecording = RecordingSidecar & {
  /** Of the compressed file. */
  readonly bytes: number;
};

/** The recordings of this machine. Only `read` streams can fail; nothing else throws. */
export interface RecordingSpool {
  /** Finished ones that are still here, oldest first. */
  list(): readonly FinishedRecording[];
  /** The gzipped asciicast. Fails when it is not there. */
  read(id: string): Readable;
  /** An admin has it, or nobody wants it. */
  remove(id: string): void;
  /** Null, or why no recording is made now, in one sentence. */
  readonly problem: string | null;
  /** Room for a new one. The answer is the path to write to, or null: there is none. */
  begin(sidecar: RecordingSidecar): string | null;
  /** It grew by so much. False: no room for more. */
  grew(bytes: number): boolean;
  /** It is over. */
  finish(sidecar: RecordingSidecar): void;
  /** Resolves when the recordings of an agent that was killed are finished. */
  readonly recovered: Promise<void>;
  /** Called when one was finished. */
  onFinished: (() => void) | null;
}

/**
 * Opens the directory, which is made. Recordings that a killed agent left open are finished, as far as they came, as
 * truncated.
 */
export function openSpool(directory: string, bytesMax: number = SPOOL_BYTES_MAX): RecordingSpool {
  let problem: string | null = null;
  let bytes = 0;
  const attempt = <T>(what: () => T): T | null => {
    try {
      const done = what();
      problem = null;
      return done;
    } catch (error) {
      problem = `SSH sessions are not recorded: ${systemProblem(error)}`;
      return null;
    }
  };
  const path = (id: string, suffix: string) => join(directory, `${id}${suffix}`);

  const finished = new Map<string, FinishedRecording>();
  const left: string[] = [];
  attempt(() => {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(directory).toSorted()) {
      bytes += statSync(join(directory, name)).size;
      const [id, suffix] = [name.slice(0, 36), name.slice(36)];
      if (suffix === '.open.json') left.push(id);
      const sidecar = suffix === '.json' ? readSidecar(join(directory, name)) : null;
      const size = sidecar === null ? undefined : statSync(path(id, '.cast.gz'), { throwIfNoEntry: false })?.size;
      if (sidecar !== null && size !== undefined) finished.set(id, { ...sidecar, bytes: size });
    }
  });

  const spool: RecordingSpool = {
    list: () => [...finished.values()].toSorted((one, other) => one.started_at_ms - other.started_at_ms),
    read: (id) => createReadStream(path(id, '.cast.gz')),
    remove(id) {
      const entry = finished.get(id);
      if (entry === undefined || !finished.delete(id)) return;
      bytes -= entry.bytes;
      attempt(() => {
        for (const suffix of ['.json', '.cast.gz']) rmSync(path(id, suffix), { force: true });
      });
    },
    get problem() {
      return (
        problem ??
        (bytes < bytesMax
          ? null
          : `SSH sessions are not recorded: ${Math.round(bytesMax / 1_048_576)} MiB of recordings wait for an admin`)
      );
    },
    begin(sidecar) {
      if (bytes >= bytesMax) return null;
      const isBegun = attempt(() => {
        writeFileSync(path(sidecar.id, '.open.json'), JSON.stringify(sidecar), { mode: 0o600 });
        return true;
      });
      return isBegun === null ? null : path(sidecar.id, '.open.gz');
    },
    grew(more) {
      bytes += more;
      return bytes < bytesMax;
    },
    finish(sidecar) {
      attempt(() => {
        const size = statSync(path(sidecar.id, '.open.gz')).size;
        writeFileSync(path(sidecar.id, '.json.new'), JSON.stringify(sidecar), { mode: 0o600 });
        renameSync(path(sidecar.id, '.open.gz'), path(sidecar.id, '.cast.gz'));
        renameSync(path(sidecar.id, '.json.new'), path(sidecar.id, '.json'));
        rmSync(path(sidecar.id, '.open.json'), { force: true });
        finished.set(sidecar.id, { ...sidecar, bytes: size });
      });
      spool.onFinished?.();
    },
    recovered: recover(),
    onFinished: null,
  };

  async function recover(): Promise<void> {
    for (const id of left) {
      const sidecar = readSidecar(path(id, '.open.json'));
      // beyond repair: it goes, below
      const durationMs = sidecar === null ? null : await repair(path(id, '.open.gz')).catch(() => null);
      if (sidecar !== null && durationMs !== null)
        spool.finish({ ...sidecar, duration_ms: durationMs, truncated: true });
      else
        attempt(() => {
          for (const suffix of ['.open.json', '.open.gz']) rmSync(path(id, suffix), { force: true });
        });
    }
  }
  return spool;
}

/**
 * Makes a file that was cut anywhere whole again: what can be read of it, up to the last whole line. Resolves with its
 * duration in ms, or null when there is nothing in it.
 */
async function repair(file: string): Promise<number | null> {
  const text = (await promisify(gunzip)(await readFile(file), { finishFlush: constants.Z_SYNC_FLUSH })).toString(
    'utf8',
  );
  const lines = text.slice(0, text.lastIndexOf('\n') + 1);
  if (lines === '') return null;
  await writeFile(file, await promisify(gzip)(lines), { mode: 0o600 });
  const last = JSON.parse(lines.slice(lines.lastIndexOf('\n', lines.length - 2) + 1)) as unknown;
  return Array.isArray(last) && typeof last[0] === 'number' ? Math.round(last[0] * 1_000) : 0;
}

function readSidecar(path: string): RecordingSidecar | null {
  try {
    return Sidecar.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null; // cut by a crash: without it nobody knows whose recording it is
  }
}
