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
import { Uuid } from '../../../../transport/protocol/ids.ts';
import { systemProblem } from '../../../problem.ts';

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
export class RecordingSpool {
  readonly #directory: string;
  readonly #bytesMax: number;
  readonly #finished = new Map<string, FinishedRecording>();
  #bytes = 0;
  #problem: string | null = null;

  /** Resolves when the recordings of an agent that was killed are finished, as far as they came, as truncated. */
  readonly recovered: Promise<void>;
  /** Called when one was finished. */
  onFinished: (() => void) | null = null;

  /** Opens the directory, which is made. */
  constructor(directory: string, bytesMax: number = SPOOL_BYTES_MAX) {
    this.#directory = directory;
    this.#bytesMax = bytesMax;
    this.recovered = this.#recover(this.#takeUp());
  }

  /** Finished ones that are still here, oldest first. */
  list(): readonly FinishedRecording[] {
    return [...this.#finished.values()].toSorted((one, other) => one.started_at_ms - other.started_at_ms);
  }

  /** The gzipped asciicast. Fails when it is not there. */
  read(id: string): Readable {
    return createReadStream(this.#path(id, '.cast.gz'));
  }

  /** An admin has it, or nobody wants it. */
  remove(id: string): void {
    const entry = this.#finished.get(id);
    if (entry === undefined || !this.#finished.delete(id)) return;
    this.#bytes -= entry.bytes;
    this.#removeFiles(id, ['.json', '.cast.gz']);
  }

  /** Null, or why no recording is made now, in one sentence. */
  get problem(): string | null {
    if (this.#problem !== null || this.#bytes < this.#bytesMax) return this.#problem;
    return `SSH sessions are not recorded: ${Math.round(this.#bytesMax / 1_048_576)} MiB of recordings wait for an admin`;
  }

  /** Room for a new one. The answer is the path to write to, or null: there is none. */
  begin(sidecar: RecordingSidecar): string | null {
    if (this.#bytes >= this.#bytesMax) return null;
    const isBegun = this.#attempt(() => {
      writeFileSync(this.#path(sidecar.id, '.open.json'), JSON.stringify(sidecar), { mode: 0o600 });
      return true;
    });
    return isBegun === null ? null : this.#path(sidecar.id, '.open.gz');
  }

  /** It grew by so much. False: no room for more. */
  grew(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes < this.#bytesMax;
  }

  /** It is over. */
  finish(sidecar: RecordingSidecar): void {
    const { id } = sidecar;
    this.#attempt(() => {
      const size = statSync(this.#path(id, '.open.gz')).size;
      writeFileSync(this.#path(id, '.json.new'), JSON.stringify(sidecar), { mode: 0o600 });
      renameSync(this.#path(id, '.open.gz'), this.#path(id, '.cast.gz'));
      renameSync(this.#path(id, '.json.new'), this.#path(id, '.json'));
      rmSync(this.#path(id, '.open.json'), { force: true });
      this.#finished.set(id, { ...sidecar, bytes: size });
    });
    this.onFinished?.();
  }

  /** What is here. Returns the ids of those that were left open. */
  #takeUp(): readonly string[] {
    const left: string[] = [];
    this.#attempt(() => {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      for (const name of readdirSync(this.#directory).toSorted()) {
        const path = join(this.#directory, name);
        this.#bytes += statSync(path).size;
        const [id, suffix] = [name.slice(0, 36), name.slice(36)];
        if (suffix === '.open.json') left.push(id);
        const sidecar = suffix === '.json' ? readSidecar(path) : null;
        if (sidecar === null) continue;
        const size = statSync(this.#path(id, '.cast.gz'), { throwIfNoEntry: false })?.size;
        if (size !== undefined) this.#finished.set(id, { ...sidecar, bytes: size });
      }
    });
    return left;
  }

  async #recover(left: readonly string[]): Promise<void> {
    for (const id of left) {
      const sidecar = readSidecar(this.#path(id, '.open.json'));
      // beyond repair: it goes, below
      const durationMs = sidecar === null ? null : await repair(this.#path(id, '.open.gz')).catch(() => null);
      if (sidecar !== null && durationMs !== null)
        this.finish({ ...sidecar, duration_ms: durationMs, truncated: true });
      else this.#removeFiles(id, ['.open.json', '.open.gz']);
    }
  }

  #removeFiles(id: string, suffixes: readonly string[]): void {
    this.#attempt(() => {
      for (const suffix of suffixes) rmSync(this.#path(id, suffix), { force: true });
    });
  }

  #path(id: string, suffix: string): string {
    return join(this.#directory, `${id}${suffix}`);
  }

  /** Null: it failed, and `problem` says why. */
  #attempt<T>(what: () => T): T | null {
    try {
      const done = what();
      this.#problem = null;
      return done;
    } catch (error) {
      this.#problem = `SSH sessions are not recorded: ${systemProblem(error)}`;
      return null;
    }
  }
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
