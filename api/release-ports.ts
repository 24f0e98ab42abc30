/** What surfaces need of the releases that this service holds for its agents. */
import type { Result } from '../actors/refusal.ts';
import type { ReleasesResource } from '../actors/resources/release.ts';

/** Releases. Every call but `readings` rejects with DatabaseUnavailable. */
export interface Releases {
  list(): Promise<ReleasesResource>;
  /** `validation_failed` for metadata that is not believed, `conflict` while files of it are missing. */
  publish(texts: {
    readonly roots: readonly string[];
    readonly timestamp: string;
    readonly snapshot: string;
    readonly targets: string;
  }): Promise<Result<ReleasesResource>>;
  /** Takes the files of a version away. `conflict` while a channel points to it. */
  remove(version: string): Promise<Result<null>>;
  /** How much of a file was brought; null: nothing. */
  brought(sha256: string): Promise<BroughtFile | null>;
  /** Takes a piece of a file. The last one is answered when the hash of the whole was checked. */
  bring(piece: {
    readonly sha256: string;
    readonly bytes: number;
    readonly offset: number;
    readonly content: Buffer;
  }): Promise<Result<BroughtFile>>;
  /** How long what is published still holds, in ms by the database's clock; null: nothing is. */
  leftMs(): Promise<number | null>;
  /** A file as machines ask for it, by its path below /releases/; null: there is none. */
  find(path: string): Promise<Download | null>;
  /** A place among those who download; null: all are taken. It must be given back, once. */
  enter(source: string): Place | null;
  readonly counters: DownloadCounters;
}

/** A file on its way here. */
export interface BroughtFile {
  readonly bytes: number;
  readonly received: number;
  readonly isComplete: boolean;
}

/** What may be downloaded. */
export interface Download {
  readonly type: 'application/json' | 'application/gzip';
  readonly bytes: number;
  readonly etag: string;
  /** Whether it never changes under its name. */
  readonly isImmutable: boolean;
  /** Its bytes from `start` up to `end`, which is left out, as fast as this place may have them. */
  content(start: number, end: number, place: Place): AsyncGenerator<Buffer, void, void>;
}

/** A place among the downloads. */
export interface Place {
  /** Resolves when so many bytes may go out. Rejects once the place was left. */
  mayWrite(bytes: number): Promise<void>;
  /** Counts that the download was cut. */
  cut(): void;
  leave(): void;
}

/** What downloads came to since the start. */
export interface DownloadCounters {
  readonly active: number;
  readonly started: number;
  readonly bytes: number;
  /** Refused with 503: all places were taken. */
  readonly refused: number;
  /** Cut: the client took nothing for too long, or a file was deleted meanwhile. */
  readonly cut: number;
}
