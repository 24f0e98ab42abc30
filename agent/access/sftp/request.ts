/** A request, as those see it that answer it. */
import type { Accounts } from './accounts.ts';
import type { Answers } from './answers.ts';
import { STATUS } from './codes.ts';
import type { Handles } from './handles.ts';
import { RequestProblem } from './status.ts';
import type { FieldReader } from './wire.ts';

/** One request and what it can use. */
export interface Request {
  /** The client's number for it, which the answer carries. */
  readonly number: number;
  /** What the client wrote after the number. */
  readonly fields: FieldReader;
  readonly answers: Answers;
  readonly handles: Handles;
  readonly accounts: Accounts;
}

/**
 * Does what the request asks for. It writes one answer, or none where "done" is all there is to say. Throws
 * RequestProblem, or an error of the system.
 */
export type Respond = (request: Request) => void;

/** Reads a path: any bytes but none of value 0, which no file name has. It stays good until the request is answered. */
export function readPath(fields: FieldReader): Buffer {
  const path = fields.bytes();
  if (path.includes(0)) throw new RequestProblem(STATUS.failure, 'a file name cannot have a byte of value 0 in it');
  return path;
}

/** Refuses places in a file past 2^53 bytes, which no file system has. */
export function readOffset(fields: FieldReader): number {
  const offset = fields.long();
  if (!Number.isSafeInteger(offset)) throw new RequestProblem(STATUS.failure, 'no file is that long');
  return offset;
}
