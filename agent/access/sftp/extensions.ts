/**
 * What OpenSSH's clients ask for beyond version 3. Source: OpenSSH, PROTOCOL, and
 * draft-ietf-secsh-filexfer-extensions-00 for copy-data and home-directory.
 */
import { fstatSync, fsyncSync, readSync, statfsSync, type StatsFs } from 'node:fs';
import { homedir } from 'node:os';
import { setLinkAttributes } from './attribute-requests.ts';
import { PACKET, STATUS } from './codes.ts';
import { writeAll } from './file-requests.ts';
import { DATA_BYTES_MAX, HANDLES_MAX, TOLD_PACKET_BYTES_MAX } from './limits.ts';
import { link, renameOver } from './path-requests.ts';
import { realPath } from './real-path.ts';
import { readOffset, readPath, type Request, type Respond } from './request.ts';
import { RequestProblem } from './status.ts';

/**
 * Numbers of users, and of groups, whose names one request may ask for: as many as fit into the answer with the longest
 * names.
 */
const IDS_MAX = 4_096;

/** Bytes of a file name at most. Source: NAME_MAX of Linux, the same in its usual file systems. */
const NAME_BYTES_MAX = 255;

/** Bytes of the name of a user or group that are given. Source: Linux makes none beyond 32. */
const ACCOUNT_BYTES_MAX = 64;

const NUMBER_BYTES = 4;
const TILDE = 0x7e;
const SLASH = 0x2f;

interface Extension {
  /** As the server tells clients. */
  readonly version: string;
  readonly respond: Respond;
}

/** Every extension by its name, and in the order in which they are told: all work. */
export const EXTENSIONS: ReadonlyMap<string, Extension> = new Map([
  ['posix-rename@openssh.com', { version: '1', respond: renameOver }],
  ['statvfs@openssh.com', { version: '2', respond: statFileSystem }],
  ['fstatvfs@openssh.com', { version: '2', respond: statHandleFileSystem }],
  ['hardlink@openssh.com', { version: '1', respond: link }],
  ['fsync@openssh.com', { version: '1', respond: synchronize }],
  ['lsetstat@openssh.com', { version: '1', respond: setLinkAttributes }],
  ['limits@openssh.com', { version: '1', respond: limits }],
  ['expand-path@openssh.com', { version: '1', respond: expandPath }],
  ['copy-data', { version: '1', respond: copyData }],
  ['home-directory', { version: '1', respond: homeDirectory }],
  ['users-groups-by-id@openssh.com', { version: '1', respond: namesByIds }],
]);

/** EXTENDED: the name of the extension comes first. */
export function extended(request: Request): void {
  const name = request.fields.bytes().toString('latin1');
  const extension = EXTENSIONS.get(name);
  if (extension === undefined) throw new RequestProblem(STATUS.unsupported, 'this server has no such extension');
  extension.respond(request);
}

function statFileSystem({ fields, answers, number }: Request): void {
  writeFileSystem(answers, number, statfsSync(readPath(fields)));
}

function statHandleFileSystem({ fields, handles, answers, number }: Request): void {
  writeFileSystem(answers, number, statfsSync(`/proc/self/fd/${handles.descriptor(fields.bytes())}`));
}

/**
 * As statvfs(3). Node does not tell the size of fragments (on Linux blocks are counted in the same unit), identity and
 * flags.
 */
function writeFileSystem(
  answers: Request['answers'],
  number: number,
  { bsize, blocks, bfree, bavail, files, ffree }: StatsFs,
): void {
  answers.begin(PACKET.extendedReply, number);
  for (const value of [bsize, bsize, blocks, bfree, bavail, files, ffree, ffree, 0, 0, NAME_BYTES_MAX])
    answers.long(value);
  answers.end();
}

function synchronize({ fields, handles }: Request): void {
  fsyncSync(handles.descriptor(fields.bytes()));
}

function limits({ answers, number }: Request): void {
  answers.begin(PACKET.extendedReply, number);
  for (const value of [TOLD_PACKET_BYTES_MAX, DATA_BYTES_MAX, DATA_BYTES_MAX, HANDLES_MAX]) answers.long(value);
  answers.end();
}

/** `~`, `~/x` and `~user/x`, then as REALPATH. */
function expandPath({ fields, answers, accounts, number }: Request): void {
  const path = readPath(fields);
  if (path[0] !== TILDE) return answers.name(number, realPath(path));
  const slash = path.indexOf(SLASH);
  const end = slash === -1 ? path.length : slash;
  const home = homeOf(path.toString('utf8', 1, end), accounts);
  answers.name(number, realPath(Buffer.concat([Buffer.from(home), path.subarray(end)])));
}

function homeDirectory({ fields, answers, accounts, number }: Request): void {
  answers.name(number, Buffer.from(homeOf(fields.bytes().toString('utf8'), accounts)));
}

function homeOf(user: string, accounts: Request['accounts']): string {
  const home = user === '' ? homedir() : accounts.homeOf(user);
  if (home === undefined) throw new RequestProblem(STATUS.failure, 'there is no such user here');
  return home;
}

/** Copies within this machine. A length of 0 means to the end, and a file that ends before the length is an error. */
function copyData({ fields, handles }: Request): void {
  const from = handles.descriptor(fields.bytes());
  const [fromOffset, length] = [readOffset(fields), readOffset(fields)];
  const to = handles.descriptor(fields.bytes());
  const toOffset = readOffset(fields);
  const [source, target] = [fstatSync(from), fstatSync(to)];
  if (source.dev === target.dev && source.ino === target.ino)
    throw new RequestProblem(STATUS.failure, 'a file cannot be copied into itself');
  const memory = Buffer.allocUnsafe(DATA_BYTES_MAX);
  const end = length === 0 ? Number.POSITIVE_INFINITY : length;
  for (let copied = 0; copied < end;) {
    const came = readSync(from, memory, 0, Math.min(memory.length, end - copied), fromOffset + copied);
    if (came === 0 && length === 0) return;
    if (came === 0) throw new RequestProblem(STATUS.eof, `the file ended after ${copied} bytes`);
    writeAll(to, memory, came, toOffset + copied);
    copied += came;
  }
}

/** Names of users, and of groups: an empty one where there is none. */
function namesByIds({ fields, answers, accounts, number }: Request): void {
  const [users, groups] = [fields.bytes(), fields.bytes()];
  if (users.length + groups.length > IDS_MAX * NUMBER_BYTES)
    throw new RequestProblem(STATUS.failure, `more than ${IDS_MAX} numbers at once`);
  answers.begin(PACKET.extendedReply, number);
  writeNames(answers, users, (uid) => accounts.userName(uid));
  writeNames(answers, groups, (gid) => accounts.groupName(gid));
  answers.end();
}

function writeNames(answers: Request['answers'], ids: Buffer, nameOf: (id: number) => string | undefined): void {
  const at = answers.length;
  answers.number(0);
  for (let index = 0; index + NUMBER_BYTES <= ids.length; index += NUMBER_BYTES) {
    const name = Buffer.from(nameOf(ids.readUInt32BE(index)) ?? '');
    answers.bytes(name.length > ACCOUNT_BYTES_MAX ? '' : name);
  }
  answers.patch(at, answers.length - at - NUMBER_BYTES);
}
