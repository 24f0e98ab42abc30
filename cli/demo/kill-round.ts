/** The scripted round of the demo with several admins: one is killed while a command runs, and nothing may be lost. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, createLiveClient, type Api, type Execution, type LiveClient } from '../service/client.ts';
import type { Connection } from '../service/connection.ts';
import { EXIT, Problem } from '../problem.ts';
import { Patience } from '../service/patience.ts';
import { shellWord } from '../reach/openssh.ts';
import { followCommand } from '../run/watch.ts';
import { ownersNow, type OwnerWatch } from './owner-watch.ts';
import { targetingOf, type DemoAdmin } from './admins.ts';

/** The longest that the whole round may take, in ms. */
const ROUND_MS_MAX = 90_000;

/** How long the script takes that is under way when the admin is killed, in s. */
const SCRIPT_S = 3;

/** What the round works with. */
export interface KillRound {
  /** Of the balancer. */
  readonly connection: Connection;
  readonly admins: readonly DemoAdmin[];
  readonly clusters: readonly string[];
  readonly watch: OwnerWatch;
  readonly say: (line: string) => void;
}

/**
 * Starts a command on all nodes, kills the admin that owns most, runs another command at once, and counts what came of
 * both. Answers an exit status.
 */
export async function killRound({ connection, admins, clusters, watch, say }: KillRound): Promise<number> {
  const api = createClient(connection);
  const live = createLiveClient(connection);
  const directory = mkdtempSync(join(tmpdir(), 'edge-demo-'));
  const late = AbortSignal.timeout(ROUND_MS_MAX);
  try {
    // each start of a process leaves a line: one that was started twice would leave two
    const ledger = join(directory, 'started');
    const created = async (text: string): Promise<string> => {
      const command_text = `echo "$EDGE_EXECUTION_ID" >>${shellWord(ledger)}; ${text}`;
      return (await api.create_command.mutate({ command_text, targeting: targetingOf(clusters) })).id;
    };
    say(`\nStarting a command that takes ${SCRIPT_S} s on all nodes ...`);
    const first = followed(live, await created(`sleep ${SCRIPT_S}; echo it survived`), late);
    await first.started;
    const victim = await ownerOfMost(api, admins);
    say(`Killing ${victim.name} with SIGKILL, and running another command at once ...`);
    process.kill(victim.pid, 'SIGKILL');
    const second = followed(live, await created('echo it runs'), late);
    await Promise.all([first.over, second.over, Promise.race([watch.takenOver(victim.name), aborted(late)])]);
    const patience = new Patience({ signal: late, failing() {} }); // the balancer may not know yet who is gone
    const executions = await Promise.all(
      [first.id, second.id].map((id) => patience.ask((signal) => executionsOf(api, id, signal))),
    );
    return judged(executions, { nodes: clusters.length, starts: linesOf(ledger), say });
  } finally {
    live.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Followed {
  readonly id: string;
  /** Resolves when it runs on every node, or is over there. */
  readonly started: Promise<void>;
  readonly over: Promise<unknown>;
}

function followed(live: LiveClient, id: string, late: AbortSignal): Followed {
  const started = Promise.withResolvers<void>();
  const over = followCommand(live.api, id, late, ({ summary }) => {
    if (summary.pending === 0) started.resolve();
  });
  return { id, over, started: Promise.race([started.promise, over.then(() => undefined)]) };
}

async function ownerOfMost(api: Api, admins: readonly DemoAdmin[]): Promise<DemoAdmin> {
  const owners = [...(await ownersNow(api)).values()];
  const owned = ({ name }: DemoAdmin): number => owners.filter((owner) => owner === name).length;
  const [most] = admins.toSorted((one, other) => owned(other) - owned(one));
  if (most === undefined) throw new Problem('there is no admin');
  return most;
}

async function executionsOf(api: Api, command: string, signal: AbortSignal): Promise<readonly Execution[]> {
  return (await api.list_command_executions.query({ command_id__in: [command], page_size: 100 }, { signal })).data;
}

function judged(
  commands: readonly (readonly Execution[])[],
  {
    nodes,
    starts,
    say,
  }: { readonly nodes: number; readonly starts: readonly string[]; readonly say: KillRound['say'] },
): number {
  const executions = commands.flat();
  const done = executions.filter(({ status, exit_code: code }) => status === 'completed' && code === 0).length;
  const twice = starts.length - new Set(starts).size;
  const wanted = commands.length * nodes;
  say(`\n${done} of ${wanted} executions succeeded: ${wanted - done} lost, ${twice} ran twice.`);
  return done === wanted && executions.length === wanted && twice === 0 ? EXIT.ok : EXIT.failed;
}

function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
