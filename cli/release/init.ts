/** `edge release init`: from nothing to a published release, with one screen that says where the keys are. */
import { resolve } from 'node:path';
import type { Command as Program } from 'commander';
import { write } from '../output/output.ts';
import { sessionOf } from '../service/session.ts';
import { build } from './build.ts';
import { keygen } from './keygen.ts';
import {
  openedKeys,
  repositoryOf,
  signingTime,
  type DirectoryFlags,
  type KeyFlags,
  type ValidityFlags,
} from './options.ts';
import { publishHere } from './publishing.ts';
import { promote, signRepository } from './releases.ts';

/** All that its steps take. */
export interface InitFlags extends DirectoryFlags, KeyFlags, ValidityFlags {
  readonly passphrase?: boolean;
  readonly channel: string;
  readonly runtime?: readonly string[];
  readonly bundles?: string;
  readonly publish: boolean;
}

/** Each step does nothing where it was done before, so that it can be called again after a failure. */
export async function init(flags: InitFlags, command: Program): Promise<void> {
  // Wrong before a minute of work is done, not after it.
  const session = flags.publish ? sessionOf(command) : null;
  if (session !== null) await session.api.get_releases.query({});
  await keygen({ ...flags, rootKeys: 1 });
  const built = await build({ ...flags, out: flags.dir });
  const [repository, keys] = [repositoryOf(flags), await openedKeys(flags)];
  const version = built[0]?.description.version ?? '';
  promote(repository, { version, channel: flags.channel, allowDowngrade: false });
  await signRepository(repository, keys, signingTime(flags));
  if (session !== null) await publishHere(repository, session);
  await write(screen(flags, version, session?.connection.url ?? null));
}

function screen(flags: InitFlags, version: string, url: string | null): string {
  const keys = resolve(flags.keys);
  return `
${version} is ${url === null ? 'signed' : `published at ${url}`}, and ${flags.channel} points to it.

  Releases  ${resolve(flags.dir)}
  Keys      ${keys}
            root.pem       says which keys count: keep it offline, and a copy of it elsewhere
            release.pem    signs releases and channels: keep it off every admin
            timestamp.pem  says each month that all is still so: may lie where a timer runs

Whoever has release.pem can install programs on your machines. Move the keys off this machine
if it runs an admin; --keys names the place where they are from then on.

Next
  the next version      edge release build, edge release promote VERSION, edge release publish
  within ${String(flags.timestampDays).padEnd(3)}days        edge release sign --refresh && edge release publish
`;
}
