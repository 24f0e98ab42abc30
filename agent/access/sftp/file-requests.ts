/** Requests about open files: OPEN, CLOSE, READ, WRITE, FSTAT. */
import { constants, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { readAttributes } from './attributes.ts';
import { OPEN_FLAG, PACKET, STATUS } from './codes.ts';
import { DATA_BYTES_MAX } from './limits.ts';
import { readOffset, readPath, type Request } from './request.ts';
import { RequestProblem } from './status.ts';

/** The mode of a new file where the client says none; the umask takes from it. Source: as OpenSSH. */
const FILE_MODE = 0o666;

/** The bits of a mode that a client may choose. */
export const MODE_BITS = 0o7777;

/** OPEN: answers with a handle. */
export function open({ fields, handles, answers, number }: Request): void {
  const path = readPath(fields);
  const flags = systemFlags(fields.number());
  const { permissions = FILE_MODE } = readAttributes(fields);
  handles.checkRoom();
  const handle = handles.add({ kind: 'file', descriptor: openSync(path, flags, permissions & MODE_BITS) });
  answers.begin(PACKET.handle, number);
  answers.number(4);
  answers.number(handle);
  answers.end();
}

/** CLOSE of a file or a directory. */
export function close({ fields, handles }: Request): void {
  handles.close(fields.bytes());
}

/** READ: answers with what there is, up to DATA_BYTES_MAX, straight from the file into the answer. */
export function read({ fields, handles, answers, number }: Request): void {
  const descriptor = handles.descriptor(fields.bytes());
  const offset = readOffset(fields);
  const length = Math.min(fields.number(), DATA_BYTES_MAX);
  const came = answers.data(number, length, (memory, at, wanted) => readSync(descriptor, memory, at, wanted, offset));
  if (came === 0) answers.status(number, STATUS.eof, 'end of file');
}

/** WRITE: all of it, or a problem. */
export function write({ fields, handles }: Request): void {
  const descriptor = handles.descriptor(fields.bytes());
  const offset = readOffset(fields);
  const data = fields.bytes();
  writeAll(descriptor, data, data.length, offset);
}

/**
 * Writes the first `length` bytes of `data` at `offset`; a disk that becomes full half-way gives a short count first,
 * and then its error.
 */
export function writeAll(descriptor: number, data: Buffer, length: number, offset: number): void {
  for (let written = 0; written < length;)
    written += writeSync(descriptor, data, written, length - written, offset + written);
}

/** FSTAT. */
export function statHandle({ fields, handles, answers, number }: Request): void {
  answers.attributes(number, fstatSync(handles.descriptor(fields.bytes())));
}

/**
 * As open(2) wants them. A pipe without its other end must not stop the only thread there is, and a terminal must not
 * become this program's.
 */
function systemFlags(flags: number): number {
  const has = (flag: number) => (flags & flag) !== 0;
  if (!has(OPEN_FLAG.read | OPEN_FLAG.write))
    throw new RequestProblem(STATUS.failure, 'a file is opened for reading, for writing, or for both');
  const access = has(OPEN_FLAG.write)
    ? has(OPEN_FLAG.read)
      ? constants.O_RDWR
      : constants.O_WRONLY
    : constants.O_RDONLY;
  return (
    access |
    constants.O_NONBLOCK |
    constants.O_NOCTTY |
    (has(OPEN_FLAG.append) ? constants.O_APPEND : 0) |
    (has(OPEN_FLAG.create) ? constants.O_CREAT : 0) |
    (has(OPEN_FLAG.truncate) ? constants.O_TRUNC : 0) |
    (has(OPEN_FLAG.exclusive) ? constants.O_EXCL : 0)
  );
}
