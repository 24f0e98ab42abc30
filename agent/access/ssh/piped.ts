/** Programs without a terminal: three streams, each with its own end. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Connection } from 'ssh2';
import { systemProblem } from '../../problem.ts';
import type { Account } from './accounts.ts';
import { groupsLeftBy, groupsOf, hangUp, send } from './hang-up.ts';
import type { Launch } from './launch.ts';
import { hasEnded, sendEnd } from './library.ts';
import { EXIT_AWAITED_MS } from './limits.ts';
import type { PipePool } from './pipes.ts';
import type { Running, Start } from './running.ts';

/** Exit status of a program that ended by a signal which SSH has no name for: as shells say it. */
const SIGNALLED_STATUS = 128;

/** Starts it in a process group of its own. Rejects when the system starts none. */
export async function startPiped(
  client: Connection,
  account: Account,
  pipes: PipePool,
  start: Start,
): Promise<Running> {
  const { launch, channel, writer, seen, ended } = start;
  const { child, stdin, stdout, stderr } = await spawned(account, pipes, launch);
  const pid = child.pid ?? 0;
  let isOver = false;
  let isHungUp = false;
  let open = 3;
  let end: { readonly status: number; readonly signal: string | null } | null = null;

  channel.pipe(stdin);
  stdin.on('error', () => {}); // it reads no more; its close follows
  stdin.on('close', () => {
    channel.resume();
  }); // what nobody reads must not keep the client from going on
  for (const [stream, kind] of [
    [stdout, 'out'],
    [stderr, 'error'],
  ] as const) {
    writer.from(stream, kind, seen);
    stream.on('error', () => {});
    stream.on('close', () => {
      open -= 1;
      if (open === 1 && !isOver) setTimeout(endEarly, EXIT_AWAITED_MS);
      finish();
    });
  }
  /**
   * It says nothing more and lives on. Where the client is done too it would close the channel now, and never hear of
   * the exit.
   */
  function endEarly(): void {
    if (!isOver && !isHungUp && !hasEnded(channel)) writer.whenEmpty(() => sendEnd(client, channel));
  }
  child.on('exit', (code, signal) => {
    open -= 1;
    isOver = true;
    stdin.destroy();
    end = { status: code ?? SIGNALLED_STATUS, signal };
    finish();
  });
  function finish(): void {
    const how = end;
    if (open === 0 && how !== null && !isHungUp) writer.whenEmpty(() => ended(how.status, how.signal));
  }

  return {
    signal: (name) => {
      if (!isOver) send(pid, name);
    },
    resize: () => {},
    hangUp(ms, over) {
      isHungUp = true;
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
      hangUp(isOver ? groupsLeftBy(pid) : groupsOf(pid), ms, over);
    },
  };
}

/** A child with its three streams. */
interface Spawned {
  readonly child: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

async function spawned(account: Account, pipes: PipePool, launch: Launch): Promise<Spawned> {
  const own = await pipes.take(account);
  let child: ChildProcess;
  try {
    child = spawn(launch.file, launch.words, {
      cwd: launch.directory,
      env: launch.environment,
      detached: true,
      stdio: own === null ? ['pipe', 'pipe', 'pipe'] : [...own.theirs],
    });
  } catch (error) {
    // of some problems Node tells by an event, of others so
    for (const stream of own === null ? [] : [own.stdin, own.stdout, own.stderr]) stream.destroy();
    throw new Error(systemProblem(error), { cause: error });
  } finally {
    own?.handOver();
  }
  const failure = await new Promise<unknown>((resolve) => {
    child.once('error', resolve);
    if (child.pid !== undefined) resolve(null);
  });
  child.on('error', () => {});
  const [stdin, stdout, stderr] =
    own === null ? [child.stdin, child.stdout, child.stderr] : [own.stdin, own.stdout, own.stderr];
  if (failure !== null || stdin === null || stdout === null || stderr === null) {
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
    throw new Error(systemProblem(failure), { cause: failure });
  }
  return { child, stdin, stdout, stderr };
}
