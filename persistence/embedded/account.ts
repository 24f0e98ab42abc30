/** The system account under which PostgreSQL runs: it refuses to run as root. */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './failure.ts';

/** A user of the operating system. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Accounts to borrow when the admin runs as root, best first. `nobody` is everywhere; PostgreSQL's sockets and files
 * stay closed to others (0700).
 */
const BORROWED_NAMES = ['postgres', 'nobody'] as const;

/**
 * Who runs PostgreSQL: undefined is the admin's own user. Root borrows the owner of existing data, or of the directory
 * that they are to be in, else a system account: what root restores for a service, that service finds as its own.
 * `pgData` is PostgreSQL's own directory, which may not exist yet, and `dataDir` the admin's. Data of another user are
 * refused.
 */
export async function accountFor(pgData: string, dataDir: string): Promise<Account | undefined> {
  const own = process.geteuid?.() ?? 0;
  const owner = await stat(pgData).catch(() => undefined);
  if (own !== 0) {
    if (owner === undefined || owner.uid === own) return undefined;
    throw new EmbeddedPostgresError(
      'not-writable',
      `The data in ${pgData} belong to the user with the id ${owner.uid}: run the admin as that user or as root, or set another DATA_DIR.`,
    );
  }
  const known = await accounts();
  const named = (uid: number): string | undefined => known.find((account) => account.uid === uid)?.name;
  if (owner !== undefined && owner.uid !== 0)
    return { name: named(owner.uid) ?? `uid ${owner.uid}`, uid: owner.uid, gid: owner.gid };
  const home = await stat(dataDir);
  const service = home.uid === 0 ? undefined : named(home.uid); // PostgreSQL begins no data as a user without a name
  if (service !== undefined) return { name: service, uid: home.uid, gid: home.gid };
  return borrowedAccount();
}

/** Whether an account is one that root borrows, and that other programs may run as. */
export async function isBorrowed({ uid }: Account): Promise<boolean> {
  return (await accounts()).some(
    (account) => account.uid === uid && BORROWED_NAMES.some((name) => name === account.name),
  );
}

async function accounts(): Promise<readonly Account[]> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
  return lines.flatMap(([name, , uid, gid]) =>
    name === undefined || uid === undefined || gid === undefined ? [] : [{ name, uid: Number(uid), gid: Number(gid) }],
  );
}

async function borrowedAccount(): Promise<Account> {
  const known = await accounts();
  for (const name of BORROWED_NAMES) {
    const found = known.find((account) => account.name === name);
    if (found) return found;
  }
  throw new EmbeddedPostgresError(
    'other',
    `PostgreSQL does not run as root, and there is no account ${BORROWED_NAMES.join(' or ')} to run it as: run the admin as another user, or set DATABASE_URL.`,
  );
}

/**
 * Whether an account can get to a path and use it: enter a directory, run a file. Asked of the system, since modes
 * alone do not tell.
 */
export async function canUse(account: Account, path: string): Promise<boolean> {
  try {
    await promisify(execFile)('/bin/sh', ['-c', 'test -x "$1" && test -r "$1"', 'sh', path], {
      uid: account.uid,
      gid: account.gid,
      cwd: '/',
      env: {},
    });
    return true;
  } catch {
    return false; // the status of `test`
  }
}
