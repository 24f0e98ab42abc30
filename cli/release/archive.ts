/** A repository as one tarball, for fleets that no line leads to. `tar` of the system packs and unpacks it. */
import { execFile } from 'node:child_process';
import { existsSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Distrusted } from '../../transport/releases/repository/metadata.ts';
import { believe, type Believed } from '../../transport/releases/repository/trust.ts';
import { EXIT, Problem } from '../problem.ts';
import { hashOf, Repository } from './repository.ts';
import { versionIn } from './signing.ts';

const run = promisify(execFile);

/** Packing or unpacking some GB takes so long at most, in ms. */
const TAR_MS_MAX = 1_800_000;

/** Writes what is signed, and nothing else that lies in the directory. */
export async function exportRepository(repository: Repository, file: string): Promise<void> {
  const { roots, snapshot, targets } = repository.metadata();
  const names = [
    ...roots.map((_, index) => `metadata/${index + 1}.root.json`),
    `metadata/${versionIn(snapshot)}.snapshot.json`,
    `metadata/${versionIn(targets)}.targets.json`,
    'metadata/timestamp.json',
    ...repository.signedTargets().map(({ path }) => `targets/${path}`),
  ];
  const work = mkdtempSync(join(tmpdir(), 'edge-release-'));
  try {
    const list = join(work, 'names');
    writeFileSync(list, `${names.join('\n')}\n`);
    await tar(['-cf', resolve(file), '-C', resolve(repository.directory), '-T', list], `${file} cannot be written`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Unpacks a tarball, checks it by itself and gives it to `use`. It is gone afterwards. */
export async function withImported<T>(
  file: string,
  nowMs: number,
  use: (repository: Repository) => Promise<T>,
): Promise<T> {
  if (!existsSync(file)) throw new Problem(`there is no file ${file}`, EXIT.notFound);
  const work = mkdtempSync(join(tmpdir(), 'edge-release-'));
  try {
    await tar(['-xf', resolve(file), '-C', work, '--no-same-owner'], `${file} is no tarball of releases`);
    const repository = new Repository(work);
    await check(repository, file, nowMs);
    return await use(repository);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function check(repository: Repository, file: string, nowMs: number): Promise<void> {
  const { targets } = believed(repository, file, nowMs);
  for (const { path, sha256, bytes } of targets) {
    const at = repository.pathOf(path);
    // A link could lead to a file of this machine.
    const isFile = lstatSync(at, { throwIfNoEntry: false })?.isFile() === true;
    const found = isFile ? await hashOf(at) : null;
    if (found?.sha256 !== sha256 || found.bytes !== bytes)
      throw new Problem(`${file} is damaged: ${path} is not the file that was signed`);
  }
}

function believed(repository: Repository, file: string, nowMs: number): Believed {
  try {
    return believe(repository.metadata(), null, nowMs);
  } catch (error) {
    throw error instanceof Distrusted ? new Problem(`${file}: ${error.message}`) : error;
  }
}

async function tar(words: readonly string[], problem: string): Promise<void> {
  try {
    await run('tar', [...words], { timeout: TAR_MS_MAX });
  } catch (error) {
    const { code, stderr = '' } = error as NodeJS.ErrnoException & { readonly stderr?: string };
    throw new Problem(
      code === 'ENOENT' ? 'there is no tar on this machine' : `${problem}: ${stderr.trim().split('\n')[0] ?? ''}`,
    );
  }
}
