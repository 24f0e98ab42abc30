/** The same transfer with many machines: several at a time, each told as it ends. */
import type { Node } from '../service/client.ts';
import { ending } from '../until-interrupted.ts';
import { labelsOf } from '../names/node-names.ts';
import { tell } from '../output/output.ts';
import { EXIT, Problem, type ExitStatus } from '../problem.ts';
import { checkProxy } from '../reach/dial.ts';
import { placeOf, type NodePlace } from '../reach/places.ts';
import { proxyOf } from '../reach/proxy.ts';
import { toldPortsOf } from '../reach/told-ports.ts';
import type { Session } from '../service/session.ts';
import { eachOf } from './at-once.ts';
import type { FileEnd, MachineEnd } from './ends.ts';
import { logIn, type LogInOptions } from './log-in.ts';
import type { Login } from './login.ts';
import type { Machine } from './machine.ts';
import { TransferProgress } from './progress.ts';
import { tellAll, tellMachine } from './telling.ts';

/** Machines that are talked to at the same time: each has up to 2 MiB under way here. */
export const MACHINES_AT_ONCE_MAX = 16;

/**
 * What is done with one machine: each file that is over is told to `ended`. Rejects with a Problem at the first
 * failure.
 */
export type Transfer = (
  machine: Machine,
  place: NodePlace,
  progress: TransferProgress,
  ended: (file: FileEnd) => void,
) => Promise<void>;

/** Does it with all of them. Answers the exit status: as that of a run. */
export async function transferAll(
  session: Session,
  nodes: readonly Node[],
  login: Login,
  transfer: Transfer,
): Promise<ExitStatus> {
  const proxy = await proxyOf(session.connection, process.env, () => toldPortsOf(session.api));
  // what is wrong there is told once
  await checkProxy(proxy, nodes[0]?.vpn_hostname ?? '');

  const { signal } = ending();
  const startedMs = performance.now();
  const progress = new TransferProgress(process.stderr, nodes.length);
  const names = labelsOf(nodes);
  const ends: MachineEnd[] = [];
  const say = (line: string): void => {
    progress.clear();
    tell(line);
  };
  const options: LogInOptions = { proxy, login, env: process.env, signal, say };
  try {
    await eachOf(nodes, MACHINES_AT_ONCE_MAX, async (node) => {
      const end = await oneMachine(node, names.get(node.id) ?? node.name, options, transfer, progress);
      ends.push(end);
      progress.ended();
      if (!signal.aborted) await tellMachine(end, session.format);
    });
  } finally {
    progress.clear();
  }
  await tellAll(ends, session.format, performance.now() - startedMs);
  if (!signal.aborted) return statusOf(ends);
  tell('left: the same again goes on where it stopped');
  return EXIT.interrupted;
}

async function oneMachine(
  node: Node,
  name: string,
  options: LogInOptions,
  transfer: Transfer,
  progress: TransferProgress,
): Promise<MachineEnd> {
  const files: FileEnd[] = [];
  let machine: Machine | null = null;
  try {
    const place = placeOf(node, node.vpn_hostname);
    machine = await logIn(place, options);
    await transfer(machine, place, progress, (file) => files.push(file));
    return { node: node.id, name, status: 'done', files, problem: null };
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // a bug
    const status = options.signal.aborted || error.status === EXIT.someUnfinished ? 'unfinished' : 'failed';
    return { node: node.id, name, status, files, problem: error.message };
  } finally {
    machine?.close();
  }
}

function statusOf(ends: readonly MachineEnd[]): ExitStatus {
  if (ends.some(({ status }) => status === 'unfinished')) return EXIT.someUnfinished;
  return ends.some(({ status }) => status === 'failed') ? EXIT.someFailed : EXIT.ok;
}
