/** Requests about directories: OPENDIR, READDIR, MKDIR, RMDIR. */
import { lstatSync, mkdirSync, opendirSync, rmdirSync, type Stats } from 'node:fs';
import { readAttributes, writeAttributes, writeNoAttributes } from './attributes.ts';
import { PACKET, STATUS } from './codes.ts';
import { MODE_BITS } from './file-requests.ts';
import type { DirectoryHandle } from './handles.ts';
import { longNameStart } from './long-name.ts';
import { readPath, type Request } from './request.ts';

/**
 * Bytes after which one READDIR answer is full. Source: answers of 34,000 bytes are what every client must take
 * (draft-ietf-secsh-filexfer-02, 3).
 */
const LISTING_BYTES_MAX = 32_000;

/** The mode of a new directory where the client says none; the umask takes from it. Source: as OpenSSH. */
const DIRECTORY_MODE = 0o777;

/** Entries that are asked of the system at once. */
const READ_AHEAD = 128;

const SLASH = Buffer.from('/');

/** OPENDIR: answers with a handle. */
export function openDirectory({ fields, handles, answers, number }: Request): void {
  const path = Buffer.from(readPath(fields)); // kept, so not a view into the packet
  handles.checkRoom();
  // bytes, which the types do not know
  const directory = opendirSync(path, { encoding: 'buffer' as unknown as BufferEncoding, bufferSize: READ_AHEAD });
  const handle = handles.add({ kind: 'directory', directory, path, first: [Buffer.from('.'), Buffer.from('..')] });
  answers.begin(PACKET.handle, number);
  answers.number(4);
  answers.number(handle);
  answers.end();
}

/** READDIR: answers with the next entries, LISTING_BYTES_MAX and one entry at most. */
export function readDirectory({ fields, handles, answers, accounts, number }: Request): void {
  const handle = handles.directory(fields.bytes());
  const start = answers.length;
  answers.begin(PACKET.name, number);
  const countAt = answers.length;
  answers.number(0);
  const nowMs = Date.now();
  let count = 0;
  while (answers.length - start < LISTING_BYTES_MAX) {
    const name = nextName(handle);
    if (name === null) break;
    const stats = look(Buffer.concat([handle.path, SLASH, name]));
    if (stats === undefined) continue;
    answers.bytes(name);
    answers.joined(longNameStart(stats, accounts, nowMs), name);
    if (stats === null) writeNoAttributes(answers);
    else writeAttributes(answers, stats);
    count += 1;
  }
  if (count === 0) {
    answers.length = start;
    answers.status(number, STATUS.eof, 'no more entries');
    return;
  }
  answers.patch(countAt, count);
  answers.end();
}

/** MKDIR. */
export function makeDirectory({ fields }: Request): void {
  const path = readPath(fields);
  const { permissions = DIRECTORY_MODE } = readAttributes(fields);
  mkdirSync(path, { mode: permissions & MODE_BITS });
}

/** RMDIR: of an empty one. */
export function removeDirectory({ fields }: Request): void {
  rmdirSync(readPath(fields));
}

function nextName(handle: DirectoryHandle): Buffer | null {
  return handle.first.shift() ?? (handle.directory.readSync()?.name as Buffer | undefined) ?? null;
}

/** What is there. Undefined: nothing any more. Null: it may not be looked at. */
function look(path: Buffer): Stats | null | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return null;
  }
}
