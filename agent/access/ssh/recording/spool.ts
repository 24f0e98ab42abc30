/** Recordings of SSH sessions on this machine, from their first byte until an admin has them. */
import { randomUUID } from 'node:crypto';
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
import { join } from 'node:path';
import type { Readable } from 'node:stream';
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

  /** Ids of those that were left open when this directory was opened: their agent was killed. See recovery.ts. */
  readonly left: readonly string[];
  /** Descriptions of those that were over and could not be stored as finished, by their ids: they are open still. */
  readonly unfinished = new Map<string, RecordingSidecar>();
  /** Called when one was finished. */
  onFinished: (() => void) | null = null;
  /** Called when the disk did not take something: `problem` says why. */
  onProblem: (() => void) | null = null;

  /** Opens the directory, which is made. */
  constructor(directory: string, bytesMax: number = SPOOL_BYTES_MAX) {
    this.#directory = directory;
    this.#bytesMax = bytesMax;
    this.left = this.#takeUp();
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

  /** Whether the disk did not take what it was given last. */
  get isBroken(): boolean {
    return this.#problem !== null;
  }

  /** Room for a new one. The answer is the path to write to, or null: there is none. */
  begin(sidecar: RecordingSidecar): string | null {
    if (this.#bytes >= this.#bytesMax) return null;
    const isBegun = this.#attempt(() => {
      writeWhole(this.#path(sidecar.id, '.open.json'), JSON.stringify(sidecar));
      return true;
    });
    return isBegun === null ? null : this.#path(sidecar.id, '.open.gz');
  }

  /** It grew by so much. False: no room for more. */
  grew(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes < this.#bytesMax;
  }

  /**
   * It is over. False: `problem` says why it could not be stored as finished, and it stays `unfinished`. A crash in
   * here leaves it open or finished, never without its text.
   */
  finish(sidecar: RecordingSidecar): boolean {
    const { id } = sidecar;
    const isStored = this.#attempt(() => {
      const size = statSync(this.#path(id, '.open.gz')).size;
      writeWhole(this.#path(id, '.json.new'), JSON.stringify(sidecar));
      renameSync(this.#path(id, '.json.new'), this.#path(id, '.json'));
      renameSync(this.#path(id, '.open.gz'), this.#path(id, '.cast.gz'));
      this.#finished.set(id, { ...sidecar, bytes: size });
      return true;
    });
    if (isStored === null) this.unfinished.set(id, sidecar);
    else {
      this.unfinished.delete(id);
      this.#removeFiles(id, ['.open.json']);
    }
    this.onFinished?.();
    return isStored !== null;
  }

  /** Whether the disk takes something by now: `problem` says it. */
  probe(): void {
    const path = this.#path(randomUUID(), '.json.new'); // that of a killed agent is removed at the next start
    this.#attempt(() => {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      writeWhole(path, '{}');
      rmSync(path);
    });
  }

  /** Where an open one has its description and its text. */
  openFiles(id: string): { readonly sidecar: string; readonly text: string } {
    return { sidecar: this.#path(id, '.open.json'), text: this.#path(id, '.open.gz') };
  }

  /** Removes an open one: nothing can be made of it. */
  discard(id: string): void {
    this.unfinished.delete(id);
    this.#attempt(() => {
      this.#bytes -= statSync(this.#path(id, '.open.gz'), { throwIfNoEntry: false })?.size ?? 0;
    });
    this.#removeFiles(id, ['.json', '.open.json', '.open.gz']);
  }

  /** What is here. Returns the ids of those that were left open. */
  #takeUp(): readonly string[] {
    const open: string[] = [];
    this.#attempt(() => {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      for (const name of readdirSync(this.#directory).toSorted()) {
        const path = join(this.#directory, name);
        const [id, suffix] = [name.slice(0, 36), name.slice(36)];
        if (suffix.endsWith('.new')) this.#removeFiles(id, [suffix]); // half written when an agent was killed
        if (suffix.endsWith('.gz')) this.#bytes += statSync(path).size;
        if (suffix === '.open.json') open.push(id);
        const sidecar = suffix === '.json' ? readSidecar(path) : null;
        if (sidecar === null) continue;
        const size = statSync(this.#path(id, '.cast.gz'), { throwIfNoEntry: false })?.size;
        if (size !== undefined) this.#finished.set(id, { ...sidecar, bytes: size });
      }
    });
    for (const id of open) if (this.#finished.has(id)) this.#removeFiles(id, ['.open.json']);
    return open.filter((id) => !this.#finished.has(id));
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
      this.onProblem?.();
      return null;
    }
  }
}

/** A description as it is stored. Throws unless it is whole. */
export function parseSidecar(text: string): RecordingSidecar {
  return Sidecar.parse(JSON.parse(text));
}

/** Or nothing: a full disk takes the name of a file and not its text. */
function writeWhole(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

function readSidecar(path: string): RecordingSidecar | null {
  try {
    return parseSidecar(readFileSync(path, 'utf8'));
  } catch {
    return null; // without it nobody knows whose recording it is
  }
}
