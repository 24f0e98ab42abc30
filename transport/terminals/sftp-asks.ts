/** What is asked of a node's SFTP server over one connection. */
import type { Client, SFTPWrapper } from 'ssh2';
import { ok, refuse, type Result } from '../../actors/refusal.ts';

/** Statuses of SFTP, as people read them. Source: draft-ietf-secsh-filexfer-02, 7. */
export const NO_SUCH_FILE = 2;
const FILE_EXISTS = 11;
const WORDS: Readonly<Record<number, string>> = {
  [NO_SUCH_FILE]: 'There is no such file.',
  3: 'The user may not do this.',
  [FILE_EXISTS]: 'There is a file of this name already.',
};

/** Characters of what a machine says in its own words, at most. */
const SAID_LENGTH_MAX = 200;

const NO_FILES = refuse('service_unavailable', 'The node gives no files over this connection (SFTP).');

/** Something of this name is there. */
export const IS_THERE = refuse('conflict', WORDS[FILE_EXISTS] ?? '');

/** Answers what comes; a failure is what SFTP says. */
type Call<T> = (done: (error?: Error | null, value?: T) => void) => void;

/** Opens the subsystem. Never rejects, and leaves nothing at a client that gives none. */
export function openSftp(client: Client): Promise<Result<SFTPWrapper>> {
  return new Promise((resolve) => {
    const end = (result: Result<SFTPWrapper>): void => {
      client.off('close', closed);
      resolve(result);
    };
    const closed = (): void => end(NO_FILES);
    client.once('close', closed);
    try {
      client.sftp((error, sftp) => end(error === undefined ? ok(sftp) : NO_FILES));
    } catch {
      end(NO_FILES); // ssh2 throws where the machine ended its half of the connection
    }
  });
}

/** Each is answered, at the latest by the end of the connection, and nothing of it is kept then. */
export class SftpAsks {
  readonly #open = new Set<(result: Result<never>) => void>();
  #isClosed = false;

  constructor(sftp: Pick<SFTPWrapper, 'on'>) {
    const close = (): void => {
      this.#isClosed = true;
      for (const answer of this.#open) answer(NO_FILES);
    };
    sftp.on('close', close);
    sftp.on('error', close);
  }

  /** Those that wait for an answer. */
  get size(): number {
    return this.#open.size;
  }

  /** Never rejects. */
  ask<T>(call: Call<T>): Promise<Result<T>> {
    if (this.#isClosed) return Promise.resolve(NO_FILES);
    return new Promise((resolve) => {
      const answer = (result: Result<T>): void => {
        this.#open.delete(answer);
        resolve(result);
      };
      this.#open.add(answer);
      try {
        call((error, value) => answer(error ? failed(error) : ok(value as T)));
      } catch (error) {
        answer(failed(error as Error)); // ssh2 throws what cannot be asked: there is no such extension, or no connection
      }
    });
  }
}

/** The status of SFTP; undefined: it is none. */
export function codeOf(error: (Error & { readonly code?: unknown }) | null | undefined): unknown {
  return error?.code;
}

function failed(error: Error): Result<never> {
  return refuse(
    'service_unavailable',
    WORDS[Number(codeOf(error))] ?? `The node says: ${error.message.slice(0, SAID_LENGTH_MAX)}.`,
  );
}
