/** Makes PostgreSQL's data directory, wholly or not at all. */
import { execFile } from 'node:child_process';
import { chown, mkdtemp, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { POSTGRES_MAJOR, type Binaries } from './binaries.ts';
import { EmbeddedPostgresError, failureOf, fileFailure, wrongVersion } from './failure.ts';
import { exists, type Place } from './place.ts';

/** The one database user. Who may be it: access.ts. */
export const DATABASE_USER = 'edge';

/**
 * Age at which an unfinished directory of a killed initialisation is taken for abandoned, in ms. initdb takes one
 * second.
 */
const ABANDONED_AFTER_MS = 600_000;

/** Time initdb may take, in ms. */
const INITDB_MS_MAX = 120_000;

/**
 * Makes the data directory unless it is there. It is made under another name and renamed when complete, so that a kill
 * in the middle leaves nothing that looks like a database. Refuses data of another major version.
 */
export async function ensureInitialised(place: Place, binaries: Binaries): Promise<'made' | 'found'> {
  try {
    if (await exists(place.pgData)) {
      const version = await readFile(join(place.pgData, 'PG_VERSION'), 'utf8').catch(notThere);
      if (version?.trim() === String(POSTGRES_MAJOR)) return 'found';
      if (version !== undefined)
        throw wrongVersion(place.pgData, `theirs is ${version.trim().slice(0, 20)}, ours is ${POSTGRES_MAJOR}`);
      if ((await readdir(place.pgData)).length > 0) {
        throw new EmbeddedPostgresError(
          'other',
          `${place.pgData} holds files, but no PostgreSQL database (PG_VERSION is missing): move them away, or set another DATA_DIR.`,
        );
      }
    }
    await initialise(place, binaries);
    return 'made';
  } catch (error) {
    throw fileFailure(error, place.pgData);
  }
}

/** A file that is not there reads as undefined; any other trouble stays an error. */
function notThere(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

async function initialise(place: Place, binaries: Binaries): Promise<void> {
  const parent = dirname(place.pgData);
  const prefix = `${basename(place.pgData)}.new-`;
  await removeAbandoned(parent, prefix);

  const unfinished = await mkdtemp(join(parent, prefix));
  try {
    if (place.account) await chown(unfinished, place.account.uid, place.account.gid);
    await runInitdb(place, binaries, unfinished);
    await rename(unfinished, place.pgData);
    await syncDirectory(parent);
  } catch (error) {
    // it may have been its removal that failed
    await rm(unfinished, { recursive: true, force: true }).catch(() => undefined);
    const code = (error as NodeJS.ErrnoException).code;
    // else another start made it first, and its database serves
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
}

async function runInitdb(place: Place, binaries: Binaries, dir: string): Promise<void> {
  const args = [
    '-D',
    dir,
    '-U',
    DATABASE_USER,
    '--auth-local=reject',
    '--auth-host=reject',
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
  ];
  try {
    await promisify(execFile)(binaries.initdb, args, { ...runAs(place), timeout: INITDB_MS_MAX });
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    throw failureOf(stderr === '' && stdout === '' ? message : `${stdout}\n${stderr}`, place.pgData);
  }
}

/**
 * How PostgreSQL's programs are run: as the account, away from the caller's directory, without the admin's environment
 * (it holds keys).
 */
export function runAs(place: Place) {
  return {
    ...(place.account && { uid: place.account.uid, gid: place.account.gid }),
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
  };
}

async function removeAbandoned(parent: string, prefix: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(parent, name);
    const changed = await stat(path).catch(() => undefined);
    if (changed && Date.now() - changed.mtimeMs > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true });
  }
}

async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
