/** Where the embedded PostgreSQL keeps its data, its socket and its log. */
import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir, mkdtemp, open, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { accountFor, canUse, type Account } from './account.ts';
import { EmbeddedPostgresError, fileFailure } from './failure.ts';

/** PostgreSQL's number in the name of its socket. Nothing listens on TCP. */
export const SOCKET_PORT = 5_432;

/** Longest path of a Unix socket, in bytes, its ending zero left out. Source: sun_path in <sys/un.h> is 108. */
const SOCKET_PATH_BYTES_MAX = 107;

/** Where root keeps what the borrowed account cannot reach below DATA_DIR. */
const SHARED_DIR = '/var/lib/edge-fleet-control';

/** Size above which the log is begun anew at a start, in bytes. */
const LOG_BYTES_MAX = 8_388_608;

/** All paths absolute and real. */
export interface Place {
  /** The admin's DATA_DIR. */
  readonly dataDir: string;
  /** PostgreSQL's own directory. May not exist yet; its parent does. */
  readonly pgData: string;
  readonly socketDir: string;
  readonly logFile: string;
  /** Who runs PostgreSQL; undefined: the admin's own user. */
  readonly account: Account | undefined;
  readonly sharedDir: string;
}

/**
 * Chooses and prepares the place. The data lie in DATA_DIR/postgres; where root's borrowed account cannot reach that
 * (a clone below root's closed home), they lie below `sharedDir`, and DATA_DIR/location says where.
 */
export async function preparePlace(dataDir: string, sharedDir: string = SHARED_DIR): Promise<Place> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o755 });
    const dir = await realpath(dataDir);
    const pgData = await chooseDirectory(dir, sharedDir);
    const account = await accountFor(pgData, dir);
    return {
      dataDir: dir,
      pgData,
      socketDir: await socketDirectory(pgData, account),
      logFile: join(dir, 'postgres.log'),
      account,
      sharedDir,
    };
  } catch (error) {
    throw fileFailure(error, dataDir);
  }
}

async function chooseDirectory(dir: string, sharedDir: string): Promise<string> {
  const recorded = await readFile(join(dir, 'location'), 'utf8').catch(() => undefined);
  if (recorded !== undefined) {
    const elsewhere = recorded.trim();
    if (await exists(elsewhere)) return realpath(elsewhere);
    throw new EmbeddedPostgresError(
      'not-reachable',
      `${join(dir, 'location')} says that the data are in ${elsewhere}, which is not there: bring it back, or delete that file to begin with an empty database.`,
    );
  }

  const usual = join(dir, 'postgres');
  const account = await accountFor(usual, dir);
  if (account === undefined || (await canUse(account, dir))) return usual;
  if (await exists(usual)) {
    throw new EmbeddedPostgresError(
      'not-reachable',
      `The user ${account.name}, as whom PostgreSQL runs, can no longer enter ${dir}: open the directories above it (chmod o+x).`,
    );
  }
  return moveElsewhere(dir, account, sharedDir);
}

/** The first start decides; one that starts at the same moment follows it. */
async function moveElsewhere(dir: string, account: Account, sharedDir: string): Promise<string> {
  await mkdir(sharedDir, { recursive: true, mode: 0o755 });
  if (!(await canUse(account, sharedDir))) {
    throw new EmbeddedPostgresError(
      'not-reachable',
      `The user ${account.name}, as whom PostgreSQL runs, can enter neither ${dir} nor ${sharedDir}: set DATA_DIR to a directory that it can enter, or set DATABASE_URL.`,
    );
  }
  const base = await mkdtemp(join(sharedDir, 'data-'));
  await chmod(base, 0o755);
  const elsewhere = join(base, 'postgres');
  try {
    await mkdir(elsewhere, { mode: 0o700 });
    await chown(elsewhere, account.uid, account.gid);
    await writeFile(join(dir, 'location'), `${elsewhere}\n`, { flag: 'wx', mode: 0o644 });
    return elsewhere;
  } catch (error) {
    await rm(base, { recursive: true, force: true });
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return chooseDirectory(dir, sharedDir);
  }
}

/**
 * The data directory itself, or, where its path is too long for a socket, a closed directory with a short name made
 * from it.
 */
async function socketDirectory(pgData: string, account: Account | undefined): Promise<string> {
  const longest = join(pgData, `.s.PGSQL.${SOCKET_PORT}`);
  if (Buffer.byteLength(longest) <= SOCKET_PATH_BYTES_MAX) return pgData;

  const uid = account?.uid ?? process.geteuid?.() ?? 0;
  const short = `/tmp/edge-pg-${uid}-${createHash('sha256').update(pgData).digest('hex').slice(0, 16)}`;
  await mkdir(short, { mode: 0o700 }).then(
    () => (account === undefined ? undefined : chown(short, account.uid, account.gid)),
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    },
  );
  const found = await lstat(short);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    throw new EmbeddedPostgresError(
      'socket-taken',
      `${short}, where the socket of the embedded PostgreSQL should be, belongs to someone else: remove it, or set a DATA_DIR with a shorter path.`,
    );
  }
  return short;
}

/** Opens the log for appending; an overlong one is begun anew. The caller closes it. */
export async function openLog(place: Place) {
  try {
    const size = (await stat(place.logFile).catch(() => undefined))?.size ?? 0;
    const log = await open(place.logFile, size > LOG_BYTES_MAX ? 'w' : 'a', 0o600);
    // so that the owner of the data can start it as well
    if (place.account) await log.chown(place.account.uid, place.account.gid);
    return log;
  } catch (error) {
    throw fileFailure(error, place.dataDir);
  }
}

/** Whether something is there. */
export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
