/** Files over the connection of a terminal, as the page sees them: a folder, and one file that moves. */
import { signal } from '@preact/signals';
import type { ServiceMessage } from '../../api/terminal/messages.ts';
import { bytesOf } from '../quantities.ts';
import { TERMINAL } from '../texts/terminal.ts';
import type { Connection } from './connection.ts';
import { nameIn, shownName } from './paths.ts';

/** Largest file that is downloaded, in bytes: a page holds it until it is whole. */
export const DOWNLOAD_BYTES_MAX = 268_435_456;

const T = TERMINAL.file;

/** What is listed. */
export type Folder = Extract<ServiceMessage, { readonly type: 'listed' }>;

/** What moves. `total`: null, it is not known yet. */
export interface Move {
  readonly kind: 'download' | 'upload';
  readonly name: string;
  readonly bytes: number;
  readonly total: number | null;
}

type Say = Connection['say'];

type Said = Extract<
  ServiceMessage,
  { readonly type: 'listed' | 'downloading' | 'uploading' | 'moved' | 'file_failed' }
>;

/** The files of one terminal. */
export class FileMoves {
  readonly folder = signal<Folder | null>(null);
  readonly move = signal<Move | null>(null);
  /** What became of the last thing. */
  readonly told = signal<{ readonly text: string; readonly isFailed: boolean } | null>(null);
  readonly #say: Say;
  #connection: Connection | null = null;
  #pieces: BlobPart[] = [];
  #file: File | null = null;
  /** Whether an answer to `list` is to come, and which folder was asked for meanwhile: one thing at a time. */
  #isListing = false;
  #next: string | null = null;

  constructor(say: Say) {
    this.#say = say;
  }

  connected(connection: Connection): void {
    this.#connection = connection;
  }

  list(path: string): void {
    if (this.move.value !== null) return;
    this.told.value = null;
    if (this.#isListing) {
      this.#next = path;
      return;
    }
    this.#isListing = true;
    this.#say({ type: 'list', path });
  }

  download(path: string, bytes: number): void {
    if (this.move.value !== null || this.#isListing) return;
    const name = nameIn(path);
    if (bytes > DOWNLOAD_BYTES_MAX) return this.#fail(T.tooLarge(shownName(name), bytesOf(DOWNLOAD_BYTES_MAX)));
    this.told.value = null;
    this.#pieces = [];
    this.move.value = { kind: 'download', name, bytes: 0, total: bytes };
    this.#say({ type: 'download', path });
  }

  upload(path: string, file: File, replaces: boolean): void {
    if (this.move.value !== null || this.#isListing) return;
    this.told.value = null;
    this.#file = file;
    this.move.value = { kind: 'upload', name: file.name, bytes: 0, total: file.size };
    this.#say({ type: 'upload', path, replaces });
  }

  cancel(): void {
    if (this.move.value !== null) this.#say({ type: 'cancel' });
  }

  said(message: Said): void {
    switch (message.type) {
      case 'listed':
        this.folder.value = message;
        return this.#listed();
      case 'downloading':
        if (message.bytes > DOWNLOAD_BYTES_MAX) this.cancel();
        return;
      case 'uploading':
        void this.#send();
        return;
      case 'moved':
        return this.#moved(message.bytes);
      case 'file_failed':
        this.#fail(message.message);
        return this.#listed();
      default:
        return message satisfies never;
    }
  }

  /** Bytes of a download. */
  arrived(bytes: Uint8Array<ArrayBuffer>, taken: () => void): void {
    const move = this.move.value;
    if (move?.kind === 'download') {
      this.#pieces.push(bytes);
      this.move.value = { ...move, bytes: move.bytes + bytes.length };
      // a file that grows while it is read is cut off as well
      if (move.bytes + bytes.length > DOWNLOAD_BYTES_MAX) this.cancel();
    }
    taken();
  }

  /** The connection is gone, and what moved with it. */
  over(): void {
    if (this.move.value !== null) this.#fail(T.lost(shownName(this.move.value.name)));
    this.folder.value = null;
    this.#isListing = false;
    this.#next = null;
  }

  #listed(): void {
    this.#isListing = false;
    const next = this.#next;
    this.#next = null;
    if (next !== null) this.list(next);
  }

  async #send(): Promise<void> {
    const [file, connection] = [this.#file, this.#connection];
    if (file === null || connection === null) return;
    const isWanted = (): boolean => this.#file === file;
    const reader = file.stream().getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (!isWanted()) return;
        if (done) return this.#say({ type: 'uploaded' });
        if (!(await connection.sendPiece(value, isWanted))) return;
        const move = this.move.value;
        if (move !== null) this.move.value = { ...move, bytes: move.bytes + value.length };
      }
    } catch {
      // the file was changed or taken away while it was read
      this.cancel();
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  #moved(bytes: number): void {
    const move = this.move.value;
    if (move === null) return;
    if (move.kind === 'download') save(move.name, new Blob(this.#pieces));
    this.#clear();
    if (move.kind === 'upload' && this.folder.value !== null) this.list(this.folder.value.path);
    this.told.value = { text: T.done(shownName(move.name), bytesOf(bytes)), isFailed: false };
  }

  #fail(text: string): void {
    this.#clear();
    this.told.value = { text, isFailed: true };
  }

  #clear(): void {
    this.move.value = null;
    this.#pieces = [];
    this.#file = null;
  }
}

/** Has the browser keep it where downloads go, under a name that is its own affair. */
function save(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
