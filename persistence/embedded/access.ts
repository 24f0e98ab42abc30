/** Who may log in to the embedded PostgreSQL: the kernel says which user asks, and only the admin's own gets in. */
import { open, readFile, rename, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileFailure } from './failure.ts';
import { isBorrowed } from './account.ts';
import type { Place } from './place.ts';

/** Name of the map from users of the system to the one of the database. */
const MAP = 'admin';

/**
 * Writes who may log in, where it is not said yet: an admin that runs as root lends PostgreSQL an account that other
 * programs may have too, so their processes are kept out by the kernel's word on who they are. Where PostgreSQL runs as
 * the admin's own user, whoever is that user could read its files anyhow. True: it was changed, and a server that runs
 * has to read it.
 */
export async function ensureAccess(place: Place, databaseUser: string): Promise<boolean> {
  const { rules, map } = await accessOf(place, databaseUser);
  try {
    const changes = await Promise.all([
      ensureFile(place, 'pg_ident.conf', map),
      ensureFile(place, 'pg_hba.conf', rules),
    ]);
    return changes.includes(true);
  } catch (error) {
    throw fileFailure(error, place.pgData);
  }
}

async function accessOf(
  { account }: Place,
  databaseUser: string,
): Promise<{ readonly rules: string; readonly map: string }> {
  const head = '# Written by edge-admin at each start.\n';
  if (account === undefined) return { rules: `${head}local all all trust\nhost all all all reject\n`, map: head };
  // Whoever owns data of an admin that ran as him may run that admin again; an account that was lent may not.
  const owner = (await isBorrowed(account)) ? [] : [account.name];
  const users = [userInfo().username, ...owner];
  return {
    rules: `${head}local all all peer map=${MAP}\nhost all all all reject\n`,
    map: `${head}${users.map((user) => `${MAP} "${user}" ${databaseUser}\n`).join('')}`,
  };
}

async function ensureFile({ pgData, account }: Place, name: string, text: string): Promise<boolean> {
  const file = join(pgData, name);
  if ((await readFile(file, 'utf8').catch(() => '')) === text) return false;
  const unfinished = `${file}.new-${process.pid}`;
  await rm(unfinished, { force: true });
  // The directory belongs to the account: root follows no link that lies there, and gives away what it made itself, not
  // what a name leads to.
  const handle = await open(unfinished, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    if (account !== undefined) await handle.chown(account.uid, account.gid);
    await rename(unfinished, file);
  } finally {
    await handle.close();
    await rm(unfinished, { force: true });
  }
  return true;
}
