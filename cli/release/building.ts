/** A release out of programs and runtimes, in a directory: the same input makes the same files. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JOURNAL_GROWTH } from '../../agent/execution/journal/journal-schema.ts';
import {
  releaseTarget,
  ReleaseVersion,
  type Architecture,
  type ReleaseDescription,
} from '../../transport/protocol/releases.ts';
import { PROTOCOL_VERSION } from '../../transport/protocol/version.ts';
import { EXIT, Problem } from '../problem.ts';
import type { Bundles } from './bundles.ts';
import { packFile } from './packing.ts';
import type { Repository } from './repository.ts';
import { stripped } from './runtime.ts';

/** What is built of what. */
export interface Building {
  readonly bundles: Bundles;
  readonly runtimes: ReadonlyMap<Architecture, string>;
  /** Replaces a version of the directory that is another one. */
  readonly force: boolean;
  readonly nowMs: number;
}

/** One architecture of a release. */
export interface Built {
  readonly description: ReleaseDescription;
  /** False: the version was there, made of the same files. */
  readonly isNew: boolean;
  readonly isStripped: boolean;
}

/** Builds for every runtime. Refuses to change what a version is: machines that have it would never see the change. */
export async function buildRelease(
  repository: Repository,
  { bundles, runtimes, force, nowMs }: Building,
): Promise<readonly Built[]> {
  const version = ReleaseVersion.safeParse(bundles.version);
  if (!version.success)
    throw new Problem(`the agent says that its version is "${bundles.version}": it should be like 1.2.3`);
  const agent = await packFile(repository, 'edge-agent.cjs', bundles.agent);
  const updater = bundles.updater === null ? [] : [await packFile(repository, 'edge-updater.cjs', bundles.updater)];
  const built: Built[] = [];
  for (const [arch, file] of runtimes) {
    const work = mkdtempSync(join(tmpdir(), 'edge-release-'));
    try {
      const { path, isStripped } = stripped(file, work);
      const files = [await packFile(repository, 'node', path), agent, ...updater];
      built.push({ ...put(repository, { version: version.data, arch, files }, { force, nowMs }), isStripped });
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  return built;
}

function put(
  repository: Repository,
  made: Pick<ReleaseDescription, 'version' | 'arch' | 'files'>,
  { force, nowMs }: Pick<Building, 'force' | 'nowMs'>,
): Omit<Built, 'isStripped'> {
  const path = releaseTarget(made.version, made.arch);
  if (existsSync(repository.pathOf(path))) {
    const before = repository.describe(path);
    if (JSON.stringify(before.files) === JSON.stringify(made.files)) return { description: before, isNew: false };
    if (!force)
      throw new Problem(
        `${made.version} is in ${repository.directory} already, made of other files: raise the version, or --force where nobody has it yet`,
        EXIT.usage,
      );
  }
  const description: ReleaseDescription = {
    version: made.version,
    released_at: new Date(nowMs).toISOString(),
    arch: made.arch,
    journal_schema: JOURNAL_GROWTH,
    protocol: PROTOCOL_VERSION,
    files: made.files,
  };
  repository.writeDescription(path, description);
  return { description, isNew: true };
}
