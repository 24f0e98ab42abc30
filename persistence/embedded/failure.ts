/** Why the embedded PostgreSQL cannot run, in words for the operator. */

/** What hinders it. `busy` passes by itself: the processes of an earlier server still hold its memory. */
export type EmbeddedFailureCode =
  | 'disk-full'
  | 'wrong-version'
  | 'not-writable'
  | 'not-reachable'
  | 'socket-taken'
  | 'binaries-missing'
  | 'memory'
  | 'busy'
  | 'timeout'
  | 'other';

/** `message` is one line: what is wrong, where, and what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
  readonly code: EmbeddedFailureCode;

  constructor(code: EmbeddedFailureCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/**
 * What initdb or postgres printed before it gave up, as a failure. `dir` is the directory it worked on, `logFile` where
 * more stands.
 */
export function failureOf(output: string, dir: string, logFile?: string): EmbeddedPostgresError {
  const last = lastComplaint(output);
  const more = logFile === undefined ? '' : ` (log: ${logFile})`;

  // a write that was cut short has no error of the system: PostgreSQL says what to look at instead
  if (/No space left on device|Disk quota exceeded|Check free disk space/iu.test(output)) return diskFull(dir);
  if (/incompatible with server|initialized by PostgreSQL version/iu.test(output)) return wrongVersion(dir, last);
  if (/shared memory block .* still in use|lock file "postmaster\.pid" already exists/iu.test(output)) {
    return new EmbeddedPostgresError('busy', `Processes of an earlier PostgreSQL still use ${dir}: ${last}`);
  }
  if (/Address already in use|lock file ".*\.s\.PGSQL\.\d+\.lock"/iu.test(output)) {
    return new EmbeddedPostgresError(
      'socket-taken',
      `The socket of the embedded PostgreSQL is in use by another program: ${last}. End that program, or set another DATA_DIR.`,
    );
  }
  if (/Permission denied|Read-only file system|Operation not permitted/iu.test(output)) return notWritable(dir, last);
  if (/error while loading shared libraries|No such file or directory.*postgres"?$/imu.test(output)) {
    return new EmbeddedPostgresError(
      'binaries-missing',
      `The PostgreSQL binaries cannot run: ${last}. Run npm ci again, with install scripts allowed, or set DATABASE_URL.`,
    );
  }
  if (/Cannot allocate memory|could not (map|resize|create) .*shared memory/iu.test(output)) {
    return new EmbeddedPostgresError(
      'memory',
      `There is too little memory for the embedded PostgreSQL: ${last}${more}`,
    );
  }
  return new EmbeddedPostgresError('other', `The embedded PostgreSQL does not start: ${last}${more}`);
}

/** An error of the file system as a failure; anything else is returned as it is. */
export function fileFailure(error: unknown, dir: string): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFull(dir, error);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return notWritable(dir, code, error);
    case 'ENOTDIR':
    case 'EEXIST':
      return new EmbeddedPostgresError(
        'not-writable',
        `DATA_DIR leads to ${dir}, which is not a directory (${code}): set DATA_DIR to a directory.`,
        error,
      );
    case undefined:
    default:
      return error;
  }
}

/** The disk is full. */
export function diskFull(dir: string, cause?: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'disk-full',
    `The disk that holds ${dir} is full: free some space (PostgreSQL needs about 150 MB to begin with), then start again. Nothing that was stored is lost.`,
    cause,
  );
}

/** The data were made by another major version of PostgreSQL. */
export function wrongVersion(dir: string, what: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'wrong-version',
    `The data in ${dir} belong to another version of PostgreSQL (${what}): use the release that made them, or set another DATA_DIR.`,
  );
}

/** The directory is not ours to write. */
export function notWritable(dir: string, what: string, cause?: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'not-writable',
    `${dir} cannot be written (${what}): give the user that runs the admin the right to, or set DATA_DIR to a directory that it can write.`,
    cause,
  );
}

/** The last line that names an error, without its time stamp and prefix. */
function lastComplaint(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    // said to clients that came too early or too late
    .filter((line) => line !== '' && !/the database system is/u.test(line));
  const line =
    lines.findLast((candidate) => /FATAL|PANIC|error|could not|cannot/iu.test(candidate)) ??
    lines.at(-1) ??
    'it said nothing';
  return line.replace(/^.*?(?:FATAL|PANIC|ERROR|error):\s+/u, '').slice(0, 300);
}
