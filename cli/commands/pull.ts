/** `edge pull`. */
import { statSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { Command as Program } from 'commander';
import { several } from '../arguments.ts';
import type { Node } from '../service/client.ts';
import { labelsOf } from '../names/node-names.ts';
import { EXIT, Problem } from '../problem.ts';
import { sessionOf } from '../service/session.ts';
import { addPlaceOptions, targetingOf, type Places } from '../names/targeting.ts';
import type { LoginFlags } from '../transfer/login.ts';
import { placedPaths } from '../transfer/places.ts';

interface PullFlags extends Places, LoginFlags {
  readonly from?: readonly string[];
}

const HELP = `
A file comes to DIRECTORY/MACHINE/FILE (DIRECTORY is . when left out), beside its place first, and into it once its SHA-256
is right. What was interrupted goes on where it stopped when the same is pulled again, but for file systems that show
another owner than who wrote (NFS with root_squash, vfat), and what is here already is not fetched. One that grows
meanwhile comes as long as it was. Who may log in: edge sshuser --help; keys are those of the ssh-agent and of ~/.ssh,
or -i.

Examples:
  edge pull -l env=prod:/var/log/app.log logs
  edge pull -n web-1:/etc/hosts -u root
  edge pull --all -s healthy --from /etc/os-release --from /etc/hostname facts

Exit status: 0 all came, 6 some machines failed, 7 some were not reached to the end, 130 left by Ctrl-C;
1 could not be done, 2 wrong usage, 3 key not accepted, 4 nothing matches.`;

/** A name that is one part of a path, and neither another directory nor a hidden one: machines name themselves. */
const FOLDER = /^\w[\w.-]{0,254}$/u;

/** Files from many machines. */
export function addPullCommand(program: Program): void {
  addPlaceOptions(program.command('pull [directory]').description('copy files from many machines'))
    .option('--from <path>', 'a file of the machines; may be given several times', several)
    .option('-u, --user <name>', 'who logs in (default: your name here)')
    .option('-i, --identity <file>', 'log in with this private key; may be given several times', several)
    .addHelpText('after', HELP)
    .action(async (directory: string | undefined, flags: PullFlags, command: Program) => {
      const { places, paths } = placedPaths(flags, flags.from ?? [], '--from');
      checkNames(paths);
      const into = directory ?? '.';
      checkDirectory(into);
      const session = sessionOf(command);
      const [{ nodesOf }, { loginOf }, { transferAll }, { pullFile }] = await Promise.all([
        import('../transfer/targets.ts'),
        import('../transfer/login.ts'),
        import('../transfer/transfers.ts'),
        import('../transfer/pull.ts'),
      ]);
      const nodes = await nodesOf(session.api, await targetingOf(session.api, places));
      const login = await loginOf(flags, process.env);
      const folders = foldersOf(nodes);
      process.exitCode = await transferAll(session, nodes, login, async (machine, place, progress, ended) => {
        const folder = join(into, folders(place.id));
        for (const path of paths) ended(await pullFile(machine, path, folder, progress));
      });
    });
}

function checkNames(paths: readonly string[]): void {
  const names = new Set<string>();
  for (const path of paths) {
    const name = posix.basename(path);
    if (path.endsWith('/') || name === '.' || name === '..')
      throw new Problem(
        `"${path}" is no file: pull fetches files, and edge cp -r a directory of one machine`,
        EXIT.usage,
      );
    if (names.has(name)) throw new Problem(`two of these files are called ${name}: pull them one by one`, EXIT.usage);
    names.add(name);
  }
}

function checkDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new Problem(`${path} is a file: name a directory, which is made where there is none`, EXIT.usage);
}

/** What the directory of a node is called: as the node is, where that is a name for one, else by its id. */
function foldersOf(nodes: readonly Node[]): (id: string) => string {
  const names = labelsOf(nodes);
  return (id) => {
    const name = names.get(id) ?? id;
    return FOLDER.test(name) ? name : id;
  };
}
