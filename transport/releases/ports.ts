/** What releases need of the rows. Every call rejects with DatabaseUnavailable. */
import type { Believed, MetadataTexts, Trusted } from './repository/trust.ts';

/** A whole file, or as much of it as was brought. */
export interface FileState {
  readonly bytes: number;
  readonly received: number;
  /** Its hash was checked: only then it is served. */
  readonly isComplete: boolean;
}

/** A piece of a file. `content` is whole chunks, but for the last piece. */
export interface FilePiece {
  readonly sha256: string;
  /** Of the whole file. */
  readonly bytes: number;
  readonly offset: number;
  readonly content: Buffer;
}

/** What came of a piece. `misplaced`: another one is wanted next; `full`: all files together would be too much. */
export type PieceOutcome =
  | { readonly type: 'stored' | 'misplaced' | 'other_size'; readonly file: FileState }
  | { readonly type: 'full'; readonly storedBytes: number };

/** A target of the published metadata, and whether its file is here. */
export interface StoredTarget {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly isHere: boolean;
}

/** What is published: all that `Believed` says, from the rows. Null: nothing yet. */
export interface PublishedState {
  readonly trusted: Trusted;
  readonly targets: readonly StoredTarget[];
  /** Of all files, also those that nothing names. */
  readonly storedBytes: number;
}

/** Releases as rows. */
export interface ReleaseRows {
  /** A metadata file by role and version; null for the version: the last one. Null: there is none. */
  metadata(role: 'root' | 'timestamp' | 'snapshot' | 'targets', version: number | null): Promise<string | null>;
  published(): Promise<PublishedState | null>;
  /** How long it still holds, in ms by the database's clock; null: nothing is published. */
  leftMs(): Promise<number | null>;
  /**
   * Puts metadata in place, in one transaction with what `judge` decides by what is trusted until then and by the
   * database's time (Unix ms). What it throws leaves all as it was. The paths of files that are not here: nothing was
   * stored.
   */
  publish(
    texts: MetadataTexts,
    judge: (trusted: Trusted | null, nowMs: number) => Believed,
  ): Promise<{ readonly believed: Believed; readonly missing: readonly string[] }>;
  /** A target of the published metadata whose file is here. */
  target(path: string): Promise<{ readonly sha256: string; readonly bytes: number } | null>;
  file(sha256: string): Promise<FileState | null>;
  /** Stores the next piece of a file, or says which one is wanted. `bytesMax`: of all files together. */
  append(piece: FilePiece, bytesMax: number): Promise<PieceOutcome>;
  /** Says that the hash of a file was checked. */
  complete(sha256: string): Promise<void>;
  /** Takes files away. */
  remove(sha256s: readonly string[]): Promise<void>;
  /** The same, while the timestamp of this version is the last one. False: it is not, and nothing was done. */
  withdraw(sha256s: readonly string[], timestamp: number): Promise<boolean>;
  /** One chunk; null: it is not there, or not any more. */
  chunk(sha256: string, index: number): Promise<Buffer | null>;
  /** First chunks of whole files: of descriptions, which are smaller than one. */
  texts(sha256s: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
