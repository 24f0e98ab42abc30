/** Files over the connection of a terminal: one thing at a time, with as much of it in memory as its window. */
import { refuse, type Result } from '../../actors/refusal.ts';
import { BYTES_MAX, ENTRIES_MAX, UPLOAD_BYTES_MAX } from './limits.ts';
import type { ClientMessage, ServiceMessage } from './messages.ts';
import type { FileReader, FileWriter, RemoteFiles } from './ports.ts';
import { Window } from './window.ts';

/** What a client may ask of files. */
export type FileMessage = Extract<
  ClientMessage,
  {
    readonly type: 'list' | 'download' | 'upload' | 'uploaded' | 'make_folder' | 'rename' | 'delete' | 'cancel';
  }
>;

/** Where answers and bytes go. */
export interface TransferKit {
  readonly files: RemoteFiles;
  /** Of one file; as in limits.ts unless given. */
  readonly uploadBytesMax?: number;
  say(message: ServiceMessage): void;
  sendBytes(bytes: Uint8Array): void;
}

/** What is under way. */
type Work =
  | { readonly kind: 'starting' }
  | { readonly kind: 'download'; readonly reader: FileReader }
  | Upload
  /** It can be given up no more: it takes its place. */
  | { readonly kind: 'finishing' };

/** `writer`: null until its file is open. `queue`: that, and then its pieces, one after another. */
interface Upload {
  readonly kind: 'upload';
  writer: FileWriter | null;
  queue: Promise<unknown>;
  bytes: number;
}

/** The files of one terminal. */
export class Transfer {
  readonly #kit: TransferKit;
  #work: Work | null = null;
  /** Bytes to the client, and from it. */
  #down = new Window();
  #up = new Window();
  #roomMade: (() => void) | null = null;
  /** What was asked and is not done. */
  readonly #doing = new Set<Promise<void>>();

  constructor(kit: TransferKit) {
    this.#kit = kit;
  }

  /** Does it, and says what became of it. */
  async ask(message: FileMessage): Promise<void> {
    const doing = this.#do(message);
    this.#doing.add(doing);
    try {
      await doing;
    } finally {
      this.#doing.delete(doing);
    }
  }

  async #do(message: FileMessage): Promise<void> {
    if (message.type === 'cancel') return this.#cancel();
    if (message.type === 'uploaded') return this.#finish();
    if (this.#work !== null) return this.#kit.say({ type: 'file_failed', message: 'Another file is under way.' });
    if (message.type === 'upload') return this.#upload(message.path, message.replaces);
    return this.#start(message);
  }

  /** Bytes of an upload. False: they are more than may be under way. What nobody waits for any more is dropped. */
  arrived(bytes: Uint8Array): boolean {
    if (!this.#up.sent(bytes.length)) return false;
    const work = this.#work;
    if (work?.kind !== 'upload') {
      this.#tookUp(bytes.length);
      return true;
    }
    work.queue = this.#writeAfter(work.queue, work, bytes);
    return true;
  }

  async #writeAfter(before: Promise<unknown>, work: Upload, bytes: Uint8Array): Promise<void> {
    await before;
    if (this.#work === work && work.writer !== null) {
      work.bytes += bytes.length;
      const { uploadBytesMax = UPLOAD_BYTES_MAX } = this.#kit;
      const written = work.bytes > uploadBytesMax ? tooLarge(uploadBytesMax) : await work.writer.write(bytes);
      if (!written.ok && this.#work === work) await this.#fail(written.refusal.message);
    }
    this.#tookUp(bytes.length);
  }

  /** The client took bytes of a download. False: it never got so many. */
  taken(bytes: number): boolean {
    const isRight = this.#down.taken(bytes);
    this.#roomMade?.();
    return isRight;
  }

  /** The client is gone: what is half done is given up. Resolves when nothing of it is left, if the machine answers. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#giveUp(), ...this.#doing]);
  }

  async #start(message: Exclude<FileMessage, { readonly type: 'upload' | 'uploaded' | 'cancel' }>): Promise<void> {
    const work: Work = { kind: 'starting' };
    this.#work = work;
    const { files } = this.#kit;
    switch (message.type) {
      case 'list':
        return this.#list(work, message.path);
      case 'download':
        return this.#download(work, await files.read(message.path));
      case 'make_folder':
        return this.#changed(work, message.path, await files.makeFolder(message.path, message.may_exist));
      case 'rename':
        return this.#changed(work, message.to, await files.rename(message.path, message.to));
      case 'delete':
        return this.#changed(work, message.path, await files.remove(message.path));
      default:
        return message satisfies never;
    }
  }

  async #list(work: Work, asked: string): Promise<void> {
    const listed = await this.#kit.files.list(asked, ENTRIES_MAX);
    if (this.#work === work) this.#work = null;
    if (!listed.ok) return this.#kit.say({ type: 'file_failed', message: listed.refusal.message });
    const { path, entries, isCut } = listed.value;
    return this.#kit.say({ type: 'listed', path, entries, is_cut: isCut });
  }

  /** What was cancelled meanwhile was answered then, though it may be done. */
  #changed(work: Work, path: string, result: Result<null>): void {
    if (this.#work !== work) return;
    this.#work = null;
    this.#kit.say(result.ok ? { type: 'changed', path } : { type: 'file_failed', message: result.refusal.message });
  }

  async #download(starting: Work, opened: Result<FileReader>): Promise<void> {
    if (this.#work !== starting) return opened.ok ? opened.value.close() : undefined;
    if (!opened.ok) return this.#fail(opened.refusal.message);
    const reader = opened.value;
    const work: Work = { kind: 'download', reader };
    this.#work = work;
    this.#kit.say({ type: 'downloading', path: reader.path, bytes: reader.bytes });
    let bytes = 0;
    while (this.#work === work) {
      const room = Math.min(this.#down.room, BYTES_MAX - 1);
      if (room <= 0) {
        await this.#room();
        continue;
      }
      const piece = await reader.next(room);
      if (this.#work !== work) return;
      if (!piece.ok) return this.#fail(piece.refusal.message);
      if (piece.value === null) {
        this.#work = null;
        await reader.close();
        return this.#kit.say({ type: 'moved', path: reader.path, bytes });
      }
      bytes += piece.value.length;
      this.#down.sent(piece.value.length);
      this.#kit.sendBytes(piece.value);
    }
  }

  /** Its bytes may follow at once: they wait for the file to be open. */
  #upload(path: string, replaces: boolean): Promise<void> {
    const work: Upload = { kind: 'upload', writer: null, queue: Promise.resolve(), bytes: 0 };
    this.#work = work;
    const opening = this.#openFor(work, path, replaces);
    work.queue = opening.catch(() => {}); // who asked for it hears of that
    return opening;
  }

  async #openFor(work: Upload, path: string, replaces: boolean): Promise<void> {
    const opened = await this.#kit.files.write(path, replaces);
    if (this.#work !== work) return opened.ok ? opened.value.abort() : undefined;
    if (!opened.ok) return this.#fail(opened.refusal.message);
    work.writer = opened.value;
    this.#kit.say({ type: 'uploading', path: opened.value.path });
  }

  async #finish(): Promise<void> {
    const work = this.#work;
    if (work?.kind !== 'upload') return;
    await work.queue;
    const { writer } = work;
    if (this.#work !== work || writer === null) return;
    this.#work = { kind: 'finishing' };
    const finished = await writer.finish();
    this.#work = null;
    if (!finished.ok) {
      await writer.abort();
      return this.#kit.say({ type: 'file_failed', message: finished.refusal.message });
    }
    this.#kit.say({ type: 'moved', path: writer.path, bytes: work.bytes });
  }

  /** What came of one that is finishing is told by that. */
  async #cancel(): Promise<void> {
    if (this.#work === null || this.#work.kind === 'finishing') return;
    await this.#fail('You cancelled it. Nothing of it stays.');
  }

  async #fail(message: string): Promise<void> {
    await this.#giveUp();
    this.#kit.say({ type: 'file_failed', message });
  }

  async #giveUp(): Promise<void> {
    const work = this.#work;
    if (work?.kind === 'finishing') return;
    this.#work = null;
    this.#roomMade?.();
    if (work?.kind === 'download') await work.reader.close();
    if (work?.kind === 'upload') await work.writer?.abort();
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#roomMade = () => {
        this.#roomMade = null;
        resolve();
      };
    });
  }

  #tookUp(bytes: number): void {
    this.#up.taken(bytes);
    this.#kit.say({ type: 'taken', channel: 'file', bytes });
  }
}

function tooLarge(bytesMax: number): ReturnType<typeof refuse> {
  return refuse('validation_failed', `A file that is uploaded may have ${bytesMax} bytes. Nothing of it was kept.`);
}
