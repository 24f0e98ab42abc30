/** `edge run`. */
import type { Command as Program } from 'commander';
import { several } from '../arguments.ts';
import { showsColours } from '../output/colours.ts';
import { durationMs } from '../duration.ts';
import { countOfNodes } from '../names/node-names.ts';
import { tell, write } from '../output/output.ts';
import { plainText } from '../output/plain-text.ts';
import { EXIT, Problem } from '../problem.ts';
import { createCommand, runCommand, type NewCommand } from '../run/run.ts';
import { scriptOf } from '../run/script.ts';
import { sessionOf, type Session } from '../service/session.ts';
import { addPlaceOptions, placeWords, targetingOf, type Places } from '../names/targeting.ts';
import { isForPeople } from '../table/format.ts';

interface RunFlags extends Places {
  readonly group?: boolean;
  readonly diff?: boolean;
  readonly raw?: boolean;
  readonly wait?: boolean;
  readonly detach?: boolean;
  readonly timeout?: string;
  readonly expires?: string;
  readonly script?: string;
  readonly env?: readonly string[];
  readonly stdin?: boolean;
  readonly again?: string;
  readonly failed?: boolean;
}

const HELP = `
Examples:
  edge run -c demo -- uptime
  edge run -n web-1,web-2 --timeout 30s -- 'df -h / | tail -1'
  edge run -l 'env=prod,zone in (a,b)' -- systemctl is-active nginx
  edge run -n 'web-*' -s healthy -b -- cat /etc/os-release
  edge run --all --diff -- sysctl -a                  what is not as it is on most machines
  edge run -c demo --script deploy.sh --env VERSION=2.1
  tar c site | edge run -c demo --stdin -- tar x -C /srv
  edge run --again 0193a1c2-7f3a --failed             once more where it failed

It ends when all machines that are connected have finished; machines that are away run it when they are back. --env and --stdin
become part of the command, which whoever may use the API can read.

Exit status: 0 all succeeded, 6 some nodes failed, 7 some did not finish, 130 left by a second Ctrl-C;
1 could not be done, 2 wrong usage, 3 key not accepted, 4 nothing matches.`;

/** Runs a command on nodes. */
export function addRunCommand(program: Program): void {
  addPlaceOptions(
    program.command('run [command...]').description('run a command on many nodes and see every output live'),
  )
    .option('-b, --group', 'show identical outputs once, at the end')
    .option('--diff', 'show at the end the most frequent output, and how the others differ from it')
    .option('--raw', 'let control sequences of machines through to this terminal')
    .option('--wait', 'wait for machines that are away, too')
    .option('-d, --detach', 'print the id of the command and do not wait')
    .option('--timeout <duration>', 'end it on a node after this time, such as 30s')
    .option(
      '--expires <duration>',
      'end it wherever it is not over within this time, such as 5m; where it waits, it never starts',
    )
    .option('--script <file>', 'run this script; its #! line names the interpreter')
    .option('--env <name=value>', 'a variable for the command; may be given several times', several)
    .option('--stdin', 'give stdin of this program to the command, on every node')
    .option('--again <id>', 'run an earlier command again, on the nodes that it was for')
    .option('--failed', 'with --again: only where it failed, was cancelled or was not reached in time')
    .addHelpText('after', HELP)
    .action(async (parts: readonly string[], flags: RunFlags, command: Program) => {
      const session = sessionOf(command);
      const wanted = await commandOf(session, parts, flags);
      if (flags.detach === true) return detach(session, wanted);
      return watch(session, wanted, flags);
    });
}

async function detach({ api, format, record }: Session, wanted: NewCommand): Promise<void> {
  const created = await createCommand(api, wanted);
  await (isForPeople(format) ? write(`${plainText(created.id)}\n`) : record(created));
  tell(`runs on ${countOfNodes(created.summary.total)}: edge command get ${created.id} says how far it is`);
}

async function watch(session: Session, wanted: NewCommand, flags: RunFlags): Promise<void> {
  const [cancel, leave] = [new AbortController(), new AbortController()];
  const onInterrupt = (): void => (cancel.signal.aborted ? leave : cancel).abort();
  process.on('SIGINT', onInterrupt);
  const live = session.live();
  try {
    process.exitCode = await runCommand(session.api, live, wanted, {
      format: session.format,
      summary: flags.diff === true ? 'differences' : flags.group === true ? 'grouped' : null,
      isRaw: flags.raw === true,
      isColoured: showsColours(process.stdout, process.env),
      waitsForAway: flags.wait === true,
      isFramed: true,
      cancel: cancel.signal,
      leave: leave.signal,
    });
  } finally {
    live.close();
    process.off('SIGINT', onInterrupt);
  }
}

async function commandOf(session: Session, parts: readonly string[], flags: RunFlags): Promise<NewCommand> {
  const timeout = flags.timeout === undefined ? null : durationMs(flags.timeout, '--timeout');
  const expiresMs = flags.expires === undefined ? null : durationMs(flags.expires, '--expires');
  const again = await earlier(session, flags);
  const text = await scriptOf({
    words: parts,
    file: flags.script,
    env: flags.env ?? [],
    takesStdin: flags.stdin === true,
    fallback: again?.text,
    places: placeWords(flags),
  });
  const timeoutMs = timeout ?? again?.timeout ?? null;
  return {
    command_text: text,
    targeting: again?.targeting ?? (await targetingOf(session.api, flags)),
    ...(timeoutMs !== null && { timeout: timeoutMs }),
    ...(expiresMs !== null && { expired_at: new Date(Date.now() + expiresMs).toISOString() }),
  };
}

async function earlier(session: Session, { again, failed, cluster, node, in: group, labels, all, status }: RunFlags) {
  if (again === undefined) {
    if (failed === true) throw new Problem('--failed goes with --again ID', EXIT.usage);
    return null;
  }
  if ([cluster, node, group, labels, all, status].some((one) => one !== undefined))
    throw new Problem(
      '--again runs on the nodes of that command: leave -c, -n, -l, --in, --all and -s out',
      EXIT.usage,
    );
  const { commandAgain } = await import('../run/again.ts');
  return commandAgain(session, again, { onlyFailed: failed === true });
}
