/** Files and directories that a client has open. */
import { closeSync, type Dir } from 'node:fs';
import { STATUS } from './codes.ts';
import { HANDLES_MAX } from './limits.ts';
import { RequestProblem } from './status.ts';

/** An open file. */
export interface FileHandle {
  readonly kind: 'file';
  readonly descriptor: number;
}

/** An open directory. */
export interface DirectoryHandle {
  readonly kind: 'directory';
  readonly directory: Dir;
  /** As the client wrote it. */
  readonly path: Buffer;
  /** Names that are given before those of the system, which leaves out `.` and `..`. */
  readonly first: Buffer[];
}

/** One of the two. */
export type Handle = FileHandle | DirectoryHandle;

const HANDLE_BYTES = 4;
const NUMBERS = 0x1_0000_0000;

/**
 * Open handles by the four bytes that clients know them by. A closed one's bytes come again after four thousand million
 * others only.
 */
export class Handles {
  readonly #handles = new Map<number, Handle>();
  #next = 0;

  /** Refuses one more than HANDLES_MAX: call it before anything is opened. */
  checkRoom(): void {
    if (this.#handles.size >= HANDLES_MAX)
      throw new RequestProblem(STATUS.failure, `more than ${HANDLES_MAX} files open at once: close some first`);
  }

  /** Keeps what was opened. Returns its number. */
  add(handle: Handle): number {
    while (this.#handles.has(this.#next)) this.#next = (this.#next + 1) % NUMBERS;
    const number = this.#next;
    this.#next = (number + 1) % NUMBERS;
    this.#handles.set(number, handle);
    return number;
  }

  /** The descriptor of an open file. Refuses anything else. */
  descriptor(bytes: Buffer): number {
    const handle = this.#get(bytes);
    if (handle.kind !== 'file')
      throw new RequestProblem(STATUS.failure, 'this handle is of a directory, not of a file');
    return handle.descriptor;
  }

  /** An open directory. Refuses anything else. */
  directory(bytes: Buffer): DirectoryHandle {
    const handle = this.#get(bytes);
    if (handle.kind !== 'directory')
      throw new RequestProblem(STATUS.failure, 'this handle is of a file, not of a directory');
    return handle;
  }

  /** Forgets the handle, whatever its file says to being closed; throws what that was. */
  close(bytes: Buffer): void {
    const handle = this.#get(bytes);
    this.#handles.delete(bytes.readUInt32BE());
    close(handle);
  }

  /** Closes what is open. */
  closeAll(): void {
    for (const handle of this.#handles.values()) {
      try {
        close(handle);
      } catch {
        // nobody is there any more to be told
      }
    }
    this.#handles.clear();
  }

  #get(bytes: Buffer): Handle {
    const handle = bytes.length === HANDLE_BYTES ? this.#handles.get(bytes.readUInt32BE()) : undefined;
    if (handle === undefined) throw new RequestProblem(STATUS.failure, 'there is no such open file');
    return handle;
  }
}

function close(handle: Handle): void {
  if (handle.kind === 'file') closeSync(handle.descriptor);
  else handle.directory.closeSync();
}
