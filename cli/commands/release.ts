/** `edge release`: what agents are updated to. Made and signed here, kept and served by the service. */
import type { Command as Program } from 'commander';
import { ARCHITECTURES, ChannelName, DEFAULT_CHANNEL } from '../../transport/protocol/releases.ts';
import { positiveInteger, several, wordsOf } from '../arguments.ts';
import { tell } from '../output/output.ts';
import { EXIT, isNotFound, Problem } from '../problem.ts';
import { exportRepository, withImported } from '../release/archive.ts';
import { build, type BuildFlags } from '../release/build.ts';
import { init, type InitFlags } from '../release/init.ts';
import { listAtService, listHere } from '../release/listing.ts';
import { keygen, type KeygenFlags } from '../release/keygen.ts';
import {
  addDirectoryOption,
  addSigningOptions,
  newPassphrase,
  knownPassphrase,
  openedKeys,
  repositoryOf,
  signingTime,
  type DirectoryFlags,
  type KeyFlags,
  type ValidityFlags,
} from '../release/options.ts';
import { publishHere } from '../release/publishing.ts';
import { promote, refreshRepository, removeRelease, signRepository } from '../release/releases.ts';
import { rotate } from '../release/rotation.ts';
import { sessionOf } from '../service/session.ts';

type SigningFlags = DirectoryFlags & KeyFlags & ValidityFlags;

const HELP = `
Examples:
  edge release init                          keys, a release of this edge for this machine, published as stable
  edge release build && edge release promote 0.2.0 && edge release publish
  edge release sign --refresh && edge release publish     all is still so: once a month, by a timer
  edge release export fleet.tar              and, where no line leads: edge release import fleet.tar

Keys belong on a machine that is no admin. What each is for, and what to do when one is lost: docs/releases.md.`;

/** Keys, releases, channels, and what the service has of them. */
export function addReleaseCommands(program: Program): void {
  const release = program
    .command('release')
    .description('what agents are updated to: build, sign, publish, promote')
    .addHelpText('after', HELP);
  addMaking(release);
  addSigning(release);
  addMoving(release);
}

function addMaking(release: Program): void {
  addSigningOptions(
    release
      .command('init')
      .description('from nothing to a published release: keys where there are none, build, sign, promote, publish'),
  )
    .option('--passphrase', 'ask for a passphrase for new keys')
    .option('--channel <name>', 'channel that is to have it', DEFAULT_CHANNEL)
    .option('--runtime <path>', 'Node to use, as PATH or ARCH=PATH; may be given for each architecture', several)
    .option('--bundles <dir>', 'directory with the programs, where they are not beside this one')
    .option('--no-publish', 'leave it here')
    .action((flags: InitFlags, command: Program) => init(flags, command));

  addDirectoryOption(
    release
      .command('keygen')
      .description('make the keys that are missing, and the first root: k of n root keys change it later'),
  )
    .option('--keys <dir>', 'directory of the keys', 'release-keys')
    .option('--root-keys <n>', 'so many root keys', positiveInteger, 1)
    .option('--threshold <k>', 'so many of them sign together (default: most of them)', positiveInteger)
    .option('--passphrase', 'ask for a passphrase for the new keys')
    .option('--passphrase-file <file>', 'take it from the first line of a file')
    .action(async (flags: KeygenFlags) => {
      await keygen(flags);
    });

  release
    .command('build')
    .description('make a release of the programs beside this one (in a clone: of the sources), not signed yet')
    .option('--dir, --out <dir>', 'directory of the releases', 'releases')
    .option(
      '--arch <names>',
      `for these: ${ARCHITECTURES.join(', ')} (default: this machine)`,
      wordsOf('--arch', ARCHITECTURES),
    )
    .option('--runtime <path>', 'Node to use, as PATH or ARCH=PATH; may be given for each architecture', several)
    .option('--bundles <dir>', 'directory with the programs, where they are not beside this one')
    .option('--force', 'replace this version, where nobody has it yet')
    .action(async (flags: BuildFlags) => {
      await build(flags);
    });
}

function addSigning(release: Program): void {
  addSigningOptions(release.command('sign').description('sign what the directory holds'))
    .option('--refresh', 'only say that all is still so: needs the timestamp key alone')
    .action(sign);
  addSigningOptions(release.command('promote <version>').description('have a channel point to a version, and sign'))
    .option('--channel <name>', 'the channel', DEFAULT_CHANNEL)
    .option('--allow-downgrade', 'also to an older version than it has: machines go back to it')
    .action(promoteHere);
  addSigningOptions(
    release.command('rm <version>').alias('remove').description('take a version out of the directory, and sign'),
  )
    .option('--at-service', 'delete its files at the service, and leave the directory as it is')
    .action(remove);
  addSigningOptions(
    release
      .command('rotate')
      .description(
        'sign a new root: keys that are new in the directory count from now on, retired ones no more, all others as before',
      ),
  )
    .option(
      '--retire <key>',
      'a key that counts no more, by its file such as release.pem, or by its id; may be given several times',
      several,
    )
    .option('--threshold <k>', 'so many root keys sign together (default: as many as before)', positiveInteger)
    .option('--passphrase', 'ask for a passphrase for keys that are made')
    .action(rotateHere);
}

async function sign(flags: SigningFlags & { readonly refresh?: boolean }): Promise<void> {
  const [repository, keys] = [repositoryOf(flags), await openedKeys(flags)];
  if (flags.refresh === true) refreshRepository(repository, keys, signingTime(flags));
  else await signRepository(repository, keys, signingTime(flags));
  tell(`signed: machines take it for ${flags.timestampDays} days, once it is published (edge release publish)`);
}

async function promoteHere(
  version: string,
  flags: SigningFlags & { readonly channel: string; readonly allowDowngrade?: boolean },
): Promise<void> {
  const { channel, allowDowngrade = false } = flags;
  if (!ChannelName.safeParse(channel).success)
    throw new Problem(`--channel is "${channel}": it should be 1 to 32 of a-z, 0-9 and -`, EXIT.usage);
  const [repository, keys] = [repositoryOf(flags), await openedKeys(flags)];
  const archs = promote(repository, { version, channel, allowDowngrade });
  await signRepository(repository, keys, signingTime(flags));
  tell(`${channel} points to ${version} for ${archs.join(', ')}, once it is published (edge release publish)`);
}

async function remove(
  version: string,
  flags: SigningFlags & { readonly atService?: boolean },
  command: Program,
): Promise<void> {
  if (flags.atService === true) {
    await sessionOf(command)
      .api.delete_release.mutate({ version })
      .catch((error: unknown) => {
        throw isNotFound(error) ? new Problem(`the service has no release ${version}`, EXIT.notFound) : error;
      });
    return;
  }
  const [repository, keys] = [repositoryOf(flags), await openedKeys(flags)];
  removeRelease(repository, version);
  await signRepository(repository, keys, signingTime(flags));
  tell(`${version} is gone from ${flags.dir}: edge release publish tells the service`);
}

async function rotateHere(
  flags: SigningFlags & {
    readonly retire?: readonly string[];
    readonly threshold?: number;
    readonly passphrase?: boolean;
  },
): Promise<void> {
  const rotation = {
    directory: flags.keys,
    retire: flags.retire ?? [],
    threshold: flags.threshold ?? null,
    passphrase: () => knownPassphrase(flags),
    newPassphrase: await newPassphrase(flags),
  };
  const { made, version } = await rotate(repositoryOf(flags), rotation, signingTime(flags));
  const keys = made.length > 0 ? `, with ${made.join(', ')} in ${flags.keys}` : '';
  tell(`root ${version} is signed${keys}: edge release publish tells the service`);
}

function addMoving(release: Program): void {
  addDirectoryOption(
    release.command('publish').description('bring to the service what it does not have, the signed metadata last'),
  ).action(async (flags: DirectoryFlags, command: Program) => {
    await publishHere(repositoryOf(flags), sessionOf(command));
  });

  release
    .command('ls')
    .alias('list')
    .description('list the releases of the service, or of a directory, with the channels that point to them')
    .option('--dir <dir>', 'of this directory, and not of the service')
    .action((flags: Partial<DirectoryFlags>, command: Program) =>
      flags.dir === undefined ? listAtService(sessionOf(command)) : listHere(repositoryOf({ dir: flags.dir }), command),
    );

  addDirectoryOption(
    release.command('export <file>').description('write what is signed as one tarball, for a fleet without a line'),
  ).action(async (file: string, flags: DirectoryFlags) => {
    await exportRepository(repositoryOf(flags), file);
    tell(`${file} is written: edge release import ${file} publishes it where the other service is`);
  });

  release
    .command('import <file>')
    .description('check a tarball of edge release export, and publish it')
    .action(async (file: string, _flags: object, command: Program) => {
      if (file === '-') throw new Problem('import reads a file, not stdin', EXIT.usage);
      await withImported(file, Date.now(), (repository) => publishHere(repository, sessionOf(command)));
    });
}
