/** What terminals need of the way to nodes: a connection by SSH, with a shell and files. */
import type { Result } from '../../actors/refusal.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';

/** Columns and rows. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** How somebody signs in. `sign` has the client sign with its key; it rejects when that does not. */
export type SignIn =
  | { readonly type: 'password'; readonly password: string }
  | { readonly type: 'key'; readonly publicKey: string; readonly sign: (data: Uint8Array) => Promise<Uint8Array> };

/** Where to, and as whom. */
export interface TerminalAsked {
  readonly node: NodeId;
  /** For the SSH server of an agent that does not know its port is asked for. */
  readonly sshPort: number;
  readonly username: string;
  readonly signIn: SignIn;
  /** One line of OpenSSH, as the service knows it; null: it knows none, and any counts. */
  readonly hostKey: string | null;
  readonly size: TerminalSize;
}

/** What is heard of it. */
export interface TerminalHeard {
  data(bytes: Uint8Array): void;
  exit(code: number | null, signal: string | null): void;
  /** Once, at last. Null: everybody said goodbye. */
  closed(why: string | null): void;
}

/** An open terminal. */
export interface RemoteTerminal {
  /** As ssh-keygen -l shows it. */
  readonly hostKey: string;
  /** `taken` is called when the machine has taken it. */
  write(bytes: Uint8Array, taken: () => void): void;
  /** Nothing more is read of the shell, until it is. */
  pause(): void;
  resume(): void;
  resize(size: TerminalSize): void;
  readonly files: RemoteFiles;
  /** Hangs up. `closed` follows. */
  end(): void;
}

/** One entry of a directory. Its name is whatever the machine says. */
export interface FileEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  readonly bytes: number;
  /** Unix seconds. */
  readonly modified_at: number;
  /** As chmod takes it: 0o755. */
  readonly mode: number;
}

/** Files of the machine, as the user who is logged in may reach them. Refusals are sentences for people. */
export interface RemoteFiles {
  list(
    path: string,
    entriesMax: number,
  ): Promise<Result<{ readonly path: string; readonly entries: readonly FileEntry[]; readonly isCut: boolean }>>;
  read(path: string): Promise<Result<FileReader>>;
  write(path: string, replaces: boolean): Promise<Result<FileWriter>>;
  /** With `mayExist` one that is there is as good. */
  makeFolder(path: string, mayExist: boolean): Promise<Result<null>>;
  /** Refuses where there is something of the new name. */
  rename(path: string, to: string): Promise<Result<null>>;
  /** A file, a link itself, or a folder that is empty. */
  remove(path: string): Promise<Result<null>>;
}

/** A file that is read from its beginning. */
export interface FileReader {
  readonly path: string;
  readonly bytes: number;
  /** The next piece of at most so many bytes; null at the end. */
  next(bytesMax: number): Promise<Result<Uint8Array | null>>;
  close(): Promise<void>;
}

/**
 * A file that is written beside its place and is there once it is whole, with the mode and owner of what it replaces.
 */
export interface FileWriter {
  readonly path: string;
  write(bytes: Uint8Array): Promise<Result<null>>;
  /** It is whole: it takes its place. Refused: it is to be given up. */
  finish(): Promise<Result<null>>;
  /** Nothing of it stays. */
  abort(): Promise<void>;
}

/** The way there. */
export interface Terminals {
  /** `forbidden`: the machine lets nobody in so. `conflict`: it shows another host key. */
  open(asked: TerminalAsked, heard: TerminalHeard, signal: AbortSignal): Promise<Result<RemoteTerminal>>;
}
