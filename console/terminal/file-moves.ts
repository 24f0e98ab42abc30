/**
 * Files over the connection of a terminal, as the page sees them: a folder, what is changed in it, and one file that
 * moves.
 */
import { signal } from '@preact/signals';
import type { ClientMessage, ServiceMessage } from '../../api/terminal/messages.ts';
import { bytesOf } from '../quantities.ts';
import { TERMINAL } from '../texts/terminal.ts';
import type { Connection } from './connection.ts';
import type { FolderPlan } from './folder-upload.ts';
import { nameIn, shownName } from './paths.ts';
import { saveFile } from './save-file.ts';
import { sendFile } from './send-file.ts';

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

/** What is asked of one name. */
export type Change = Extract<ClientMessage, { readonly type: 'make_folder' | 'rename' | 'delete' }>;

type Say = Connection['say'];

type Said = Extract<
  ServiceMessage,
  { readonly type: 'listed' | 'downloading' | 'uploading' | 'moved' | 'changed' | 'file_failed' }
>;

/** The files of one terminal. */
export class FileMoves {
  readonly folder = signal<Folder | null>(null);
  readonly move = signal<Move | null>(null);
  /** Whether a name is being changed. */
  readonly isChanging = signal(false);
  /** What became of the last thing. */
  readonly told = signal<{ readonly text: string; readonly isFailed: boolean } | null>(null);
  readonly #say: Say;
  #connection: Connection | null = null;
  #pieces: BlobPart[] = [];
  #file: File | null = null;
  /** Whether an answer to `list` is to come, and which folder was asked for meanwhile: one thing at a time. */
  #isListing = false;
  #next: string | null = null;
  /** Who waits until the folder is listed. */
  #waiting: (() => void)[] = [];
  /** Who waits for what became of one step: a failure in words, or null. */
  #answered: ((failure: string | null) => void) | null = null;
  #isCancelled = false;
  /** Why the page itself gave up what moves; null: it did not. */
  #ownReason: string | null = null;

  constructor(say: Say) {
    this.#say = say;
  }

  connected(connection: Connection): void {
    this.#connection = connection;
  }

  /** Whether something is under way, so that nothing else begins. */
  get isBusy(): boolean {
    return this.move.value !== null || this.#isListing || this.#answered !== null;
  }

  list(path: string): void {
    if (this.move.value !== null || this.#answered !== null) return;
    this.told.value = null;
    if (this.#isListing) {
      this.#next = path;
      return;
    }
    this.#isListing = true;
    this.#say({ type: 'list', path });
  }

  /** Until `folder` has what is there: it is listed once more after each upload. At once where that is over. */
  async upToDate(): Promise<void> {
    if (this.#isListing) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async download(path: string, bytes: number): Promise<void> {
    if (!(await this.#mayBegin()) || this.isBusy) return;
    const name = nameIn(path);
    if (bytes > DOWNLOAD_BYTES_MAX) return this.#fail(tooLarge(name));
    this.told.value = null;
    this.#pieces = [];
    this.move.value = { kind: 'download', name, bytes: 0, total: bytes };
    this.#say({ type: 'download', path });
  }

  async upload(path: string, file: File, replaces: boolean): Promise<void> {
    if (!(await this.#mayBegin()) || this.isBusy) return;
    this.told.value = null;
    this.#file = file;
    this.move.value = { kind: 'upload', name: file.name, bytes: 0, total: file.size };
    this.#say({ type: 'upload', path, replaces });
  }

  /** Makes a folder, renames or deletes. `done`: what is said then. */
  async change(change: Change, done: string): Promise<void> {
    if (!(await this.#mayBegin()) || this.isBusy) return;
    this.told.value = null;
    this.isChanging.value = true;
    const failure = await this.#ask(change);
    this.isChanging.value = false;
    this.#relist();
    this.told.value = { text: failure ?? done, isFailed: failure !== null };
  }

  /** The folders, then file after file. The first failure ends it: what was done stays, and is told. */
  async uploadFolder({ name, folders, files }: FolderPlan<File>, replaces: boolean): Promise<void> {
    if (!(await this.#mayBegin()) || this.isBusy) return;
    this.told.value = null;
    this.#isCancelled = false;
    let [done, bytes] = [0, 0];
    let failure: string | null = null;
    const shown = (): string => T.folderOf(name, Math.min(done + 1, files.length), files.length);
    this.move.value = { kind: 'upload', name: shown(), bytes: 0, total: null };
    for (const path of folders) failure ??= await this.#step({ type: 'make_folder', path, may_exist: true });
    for (const { path, file } of files) {
      if (failure !== null) break;
      this.#file = file;
      this.move.value = { kind: 'upload', name: shown(), bytes: 0, total: file.size };
      failure = await this.#step({ type: 'upload', path, replaces });
      if (failure !== null) break;
      done += 1;
      bytes += file.size;
    }
    this.#clear();
    this.#relist();
    this.told.value =
      failure === null
        ? { text: T.folderDone(shownName(name), done, bytesOf(bytes)), isFailed: false }
        : { text: T.folderFailed(shownName(name), done, files.length, failure), isFailed: true };
  }

  cancel(): void {
    if (this.move.value === null) return;
    this.#isCancelled = true;
    this.#say({ type: 'cancel' });
  }

  said(message: Said): void {
    switch (message.type) {
      case 'listed':
        this.folder.value = message;
        return this.#listed();
      case 'downloading':
        return message.bytes > DOWNLOAD_BYTES_MAX ? this.#giveUp(tooLarge) : undefined;
      case 'uploading':
        return void this.#send();
      case 'moved':
        return this.#answered === null ? this.#moved(message.bytes) : this.#answer(null);
      case 'changed':
        return this.#answer(null);
      case 'file_failed':
        return this.#failed(this.#ownReason ?? message.message);
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
      if (move.bytes + bytes.length > DOWNLOAD_BYTES_MAX) this.#giveUp(tooLarge);
    }
    taken();
  }

  /** The connection is gone, and what moved with it. */
  over(): void {
    this.folder.value = null;
    this.#isListing = false;
    this.#next = null;
    this.#wakeWaiting();
    if (this.#answered !== null) this.#answer(T.gone);
    else if (this.move.value !== null) this.#fail(T.lost(shownName(this.move.value.name)));
  }

  /** The service is told that it is cancelled, and somebody why. */
  #giveUp(why: (name: string) => string): void {
    const move = this.move.value;
    if (move === null || this.#ownReason !== null) return;
    this.#ownReason = why(this.#file?.name ?? move.name);
    this.cancel();
  }

  #failed(why: string): void {
    if (this.#answered !== null) return this.#answer(why);
    this.#fail(why);
    this.#listed();
  }

  /** Unless it was cancelled between two of them: then there was nothing to cancel. */
  #step(message: Parameters<Say>[0]): Promise<string | null> {
    return this.#isCancelled ? Promise.resolve(T.cancelled) : this.#ask(message);
  }

  #ask(message: Parameters<Say>[0]): Promise<string | null> {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#say(message);
    });
  }

  #answer(failure: string | null): void {
    const answered = this.#answered;
    this.#answered = null;
    this.#file = null;
    this.#ownReason = null;
    answered?.(failure);
  }

  /** The folder as it is now; nothing where the connection is gone. */
  #relist(): void {
    if (this.folder.value !== null) this.list(this.folder.value.path);
  }

  #listed(): void {
    this.#isListing = false;
    const next = this.#next;
    this.#next = null;
    if (next === null) this.#wakeWaiting();
    else this.list(next);
  }

  /** Whether there is nothing under way, once the folder is listed. Of two that wait for that the first one begins. */
  async #mayBegin(): Promise<boolean> {
    await this.upToDate();
    return this.folder.value !== null && !this.isBusy;
  }

  #wakeWaiting(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async #send(): Promise<void> {
    const [file, connection] = [this.#file, this.#connection];
    if (file === null || connection === null) return;
    const isWanted = (): boolean => this.#file === file;
    const outcome = await sendFile(file, connection, { isWanted, sent: (bytes) => this.#sent(bytes) });
    if (outcome === 'whole') this.#say({ type: 'uploaded' });
    if (outcome === 'unreadable' && isWanted()) this.#giveUp((name) => T.unreadable(shownName(name)));
  }

  #sent(bytes: number): void {
    const move = this.move.value;
    if (move !== null) this.move.value = { ...move, bytes: move.bytes + bytes };
  }

  #moved(bytes: number): void {
    const move = this.move.value;
    if (move === null) return;
    if (move.kind === 'download') saveFile(move.name, new Blob(this.#pieces));
    this.#clear();
    if (move.kind === 'upload') this.#relist();
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
    this.#ownReason = null;
  }
}

function tooLarge(name: string): string {
  return T.tooLarge(shownName(name), bytesOf(DOWNLOAD_BYTES_MAX));
}
