/** `edge run`. */
import type { Command as Program } from 'commander';
import { words } from '../arguments.ts';
import { durationMs } from '../duration.ts';
import type { Api } from '../client.ts';
import { nodeIdOf } from '../node-names.ts';
import { EXIT, Problem } from '../problem.ts';
import { runCommand, type NewCommand } from '../run.ts';
import { sessionOf } from '../session.ts';

interface RunFlags {
  readonly cluster?: readonly string[];
  readonly node?: readonly string[];
  readonly all?: boolean;
  readonly group?: boolean;
  readonly timeout?: string;
  readonly expires?: string;
}

const HELP = `
Examples:
  edge run -c demo -- uptime
  edge run -n web-1,web-2 --timeout 30s -- 'df -h / | tail -1'
  edge run --all -b -- cat /etc/os-release
  edge run -c demo - < script.sh

Exit status: 0 all succeeded, 6 some nodes failed, 7 some did not finish, 130 left by a second Ctrl-C;
1 could not be done, 2 wrong usage, 3 key not accepted, 4 nothing matches.`;

/** Runs a command on nodes. */
export function addRunCommand(program: Program): void {
  program
    .command('run [command...]')
    .description('run a command on many nodes and see every output live')
    .option('-c, --cluster <names>', 'on all nodes of these clusters', words)
    .option('-n, --node <nodes>', 'on these nodes: ids, beginnings of ids, aliases or host names', words)
    .option('--all', 'on all nodes')
    .option('-b, --group', 'show identical outputs once, at the end')
    .option('--timeout <duration>', 'end it on a node after this time, such as 30s')
    .option('--expires <duration>', 'give up on nodes that it did not reach within this time, such as 5m')
    .addHelpText('after', HELP)
    .action(async (parts: readonly string[], flags: RunFlags, command: Program) => {
      const text = await textOf(parts);
      const session = sessionOf(command);
      const wanted = await commandOf(session.api, text, flags);
      const [cancel, leave] = [new AbortController(), new AbortController()];
      const onInterrupt = (): void => (cancel.signal.aborted ? leave : cancel).abort();
      process.on('SIGINT', onInterrupt);
      const live = session.live();
      try {
        process.exitCode = await runCommand(session.api, live, wanted, {
          format: session.format,
          grouped: flags.group === true,
          cancel: cancel.signal,
          leave: leave.signal,
        });
      } finally {
        live.close();
        process.off('SIGINT', onInterrupt);
      }
    });
}

/** One word is a script as it stands; several are joined, as a shell would show them. `-` is stdin. */
async function textOf(parts: readonly string[]): Promise<string> {
  if (parts.length === 0) throw new Problem('a command is missing: edge run -c CLUSTER -- COMMAND', EXIT.usage);
  if (parts.length > 1 || parts[0] !== '-') return parts.join(' ');
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  const script = Buffer.concat(chunks).toString();
  if (script.trim() === '') throw new Problem('the script on stdin is empty', EXIT.usage);
  return script;
}

async function commandOf(api: Api, text: string, flags: RunFlags): Promise<NewCommand> {
  const timeout = flags.timeout === undefined ? null : durationMs(flags.timeout, '--timeout');
  const expiresMs = flags.expires === undefined ? null : durationMs(flags.expires, '--expires');
  return {
    command_text: text,
    targeting: await targetingOf(api, flags),
    ...(timeout !== null && { timeout }),
    ...(expiresMs !== null && { expired_at: new Date(Date.now() + expiresMs).toISOString() }),
  };
}

async function targetingOf(api: Api, { cluster, node, all }: RunFlags): Promise<NewCommand['targeting']> {
  const given = [cluster, node, all].filter((one) => one !== undefined).length;
  if (given !== 1)
    throw new Problem(
      `${given === 0 ? 'say where to run it' : 'say only one place to run it'}: -c CLUSTER, -n NODE[,NODE] or --all`,
      EXIT.usage,
    );
  if (cluster !== undefined) {
    // A cluster that does not exist would match nothing; a misspelt name should be told as such.
    await Promise.all(
      cluster.map((name) =>
        api.get_cluster.query({ name }).catch((error: unknown) => {
          throw misspelt(error, name);
        }),
      ),
    );
    return { type: 'clusters', cluster_names: cluster };
  }
  if (node !== undefined)
    return { type: 'nodes', node_ids: await Promise.all(node.map((name) => nodeIdOf(api, name))) };
  return { type: 'all' };
}

function misspelt(error: unknown, name: string): unknown {
  const code = (error as { readonly data?: { readonly code?: unknown } | null }).data?.code;
  return code === 'not_found' || code === 'bad_request'
    ? new Problem(`there is no cluster "${name}": edge cluster ls shows all`, EXIT.notFound)
    : error;
}
