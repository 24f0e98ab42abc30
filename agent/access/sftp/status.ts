/** Why a request failed, in the numbers of SFTP and in words. */
import { getSystemErrorMessage } from 'node:util';
import { STATUS, type StatusCode } from './codes.ts';

/** A request that cannot be done, as the client is told. */
export class RequestProblem extends Error {
  override readonly name = 'RequestProblem';
  readonly code: StatusCode;

  constructor(code: StatusCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Which errors of the system are more than a failure. Version 3 has no other numbers: the words tell the rest. */
const CODES: Readonly<Record<string, StatusCode>> = {
  ENOENT: STATUS.noSuchFile,
  ENOTDIR: STATUS.noSuchFile,
  ELOOP: STATUS.noSuchFile,
  EACCES: STATUS.permissionDenied,
  EPERM: STATUS.permissionDenied,
  ENOSYS: STATUS.unsupported,
  ENOTSUP: STATUS.unsupported,
  EOPNOTSUPP: STATUS.unsupported,
};

/** Words where those of the system would mislead. */
const WORDS: Readonly<Record<string, string>> = {
  EBADF: 'the file is not open for this',
  ENXIO: 'nobody reads from this pipe',
  ESPIPE: 'a pipe has no positions to read or write at',
  EXDEV: 'the new name is on another file system',
};

/** What the client is told of an error. Throws on what is no error of a request: it is a bug, or garbage. */
export function problemOf(error: unknown): RequestProblem {
  if (error instanceof RequestProblem) return error;
  const { code, errno } = error as NodeJS.ErrnoException;
  if (code === undefined || errno === undefined) throw error;
  return new RequestProblem(CODES[code] ?? STATUS.failure, WORDS[code] ?? getSystemErrorMessage(errno));
}
