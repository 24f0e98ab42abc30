/** `edge push`. */
import type { Command as Program } from 'commander';
import { several } from '../arguments.ts';
import { EXIT, Problem } from '../problem.ts';
import { sessionOf } from '../service/session.ts';
import { addPlaceOptions, targetingOf, type Places } from '../names/targeting.ts';
import type { LoginFlags } from '../transfer/login.ts';
import { placedPaths } from '../transfer/places.ts';

interface PushFlags extends Places, LoginFlags {
  readonly to?: string;
}

const HELP = `
PATH is absolute: of the file, or of a directory, where it ends with / or there is one. Several files go into a directory.
A file comes beside its place first, and into it once its SHA-256 is right; what has its place gives it its mode, and its
owner where the user may. What was interrupted goes on where it stopped when the same is pushed again, but for file
systems that show another owner than who wrote (NFS with root_squash, vfat), and what is there already is not sent. Who
may log in: edge sshuser --help; keys are those of the ssh-agent and of ~/.ssh, or -i.

Examples:
  edge push app.conf -l env=prod:/etc/app/ -u root
  edge push app.conf -n web-1,web-2:/etc/app/app.conf
  edge push site.tar site.sig -c demo:/srv/ -i ~/.ssh/deploy
  edge push app.conf --all -s healthy --to /etc/app/

Exit status: 0 all have them, 6 some machines failed, 7 some were not reached to the end, 130 left by Ctrl-C;
1 could not be done, 2 wrong usage, 3 key not accepted, 4 nothing matches.`;

/** Files to many machines. */
export function addPushCommand(program: Program): void {
  addPlaceOptions(program.command('push <files...>').description('copy files to many machines'))
    .option('--to <path>', 'where to on the machines, instead of behind which they are')
    .option('-u, --user <name>', 'who logs in (default: your name here)')
    .option('-i, --identity <file>', 'log in with this private key; may be given several times', several)
    .addHelpText('after', HELP)
    .action(async (paths: readonly string[], flags: PushFlags, command: Program) => {
      const { places, paths: targets } = placedPaths(flags, flags.to === undefined ? [] : [flags.to], '--to');
      const [path = ''] = targets;
      if (targets.length > 1)
        throw new Problem(`say one path on the machines, not ${targets.length}: ${targets.join(', ')}`, EXIT.usage);
      const [{ localFiles }, { loginOf }] = await Promise.all([
        import('../transfer/local-files.ts'),
        import('../transfer/login.ts'),
      ]);
      const files = await localFiles(paths);
      const session = sessionOf(command);
      const [{ nodesOf }, { transferAll }, { pushFile }] = await Promise.all([
        import('../transfer/targets.ts'),
        import('../transfer/transfers.ts'),
        import('../transfer/push.ts'),
      ]);
      const nodes = await nodesOf(session.api, await targetingOf(session.api, places));
      const login = await loginOf(flags, process.env);
      const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
      process.exitCode = await transferAll(session, nodes, login, async (machine, place, progress, ended) => {
        progress.wanted(total);
        const target = { path, isDirectory: files.length > 1, node: place.id };
        for (const file of files) ended(await pushFile(machine, file, target, (bytes) => progress.moved(bytes)));
      });
    });
}
