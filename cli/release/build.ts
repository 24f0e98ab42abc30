/** `edge release build`. */
import type { Architecture } from '../../transport/protocol/releases.ts';
import { tell } from '../output/output.ts';
import { EXIT, Problem } from '../problem.ts';
import { bytesText } from '../transfer/bytes.ts';
import { buildRelease, type Built } from './building.ts';
import { withBundles } from './bundles.ts';
import { Repository } from './repository.ts';
import { ownArchitecture, runtimesFrom } from './runtime.ts';

/** What to build of what. */
export interface BuildFlags {
  readonly out: string;
  readonly arch?: readonly Architecture[];
  readonly runtime?: readonly string[];
  readonly bundles?: string;
  readonly force?: boolean;
}

/** Builds, and says what it made. */
export async function build({
  out,
  arch,
  runtime = [],
  bundles: from,
  force = false,
}: BuildFlags): Promise<readonly Built[]> {
  const own = ownArchitecture();
  const given = runtimesFrom(runtime, arch ?? []);
  if (given.size === 0 && own === null)
    throw new Problem('releases are for Linux on x64 and arm64: --arch and --runtime say for which', EXIT.usage);
  const runtimes = given.size === 0 && own !== null ? runtimesFrom([], [own]) : given;
  const built = await withBundles(from, (bundles) => {
    if (bundles.updater === null)
      tell(`there is no edge-updater.cjs beside ${bundles.agent}: this release cannot update the updater`);
    return buildRelease(new Repository(out), { bundles, runtimes, force, nowMs: Date.now() });
  });
  for (const { description, isNew, isStripped } of built) {
    const { version, arch: of, files } = description;
    const sizes = files.map(({ name, packed_bytes: bytes }) => `${name} ${bytesText(bytes)}`).join(', ');
    tell(
      `${version} for ${of}${isNew ? '' : ' was there already'}: ${sizes}${isStripped ? '' : ' (there is no strip here: the runtime is a seventh larger than need be)'}`,
    );
  }
  return built;
}
