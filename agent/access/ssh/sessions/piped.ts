/** Programs without a terminal: three streams, each with its own end. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Connection } from 'ssh2';
import { systemProblem } from '../../../problem.ts';
import type { Account } from '../login/accounts.ts';
import { groupsLeftBy, groupsOf, hangUp, send } from './hang-up.ts';
import type { Launch } from './launch.ts';
import { hasEnded, sendEnd } from '../library.ts';
import type { PipePool } from './pipes.ts';
import type { Running, Start } from './running.ts';

/**
 * A program that closed its outputs is mostly about to end; its client hears of their end apart from that of the
 * program only after this, in ms.
 */
const EXIT_AWAITED_MS = 250;

/** Exit status of a program that ended by a signal which SSH has no name for: as shells say it. */
const SIGNALLED_STATUS = 128;

/** Starts it in a process group of its own. Rejects when the system starts none. */
export async function startPiped(
  client: Connection,
  account: Account,
  pipes: PipePool,
  start: Start,
): Promise<Running> {
  return new PipedProgram(client, start, await spawned(account, pipes, start.launch));
}

/** A child with its three streams. */
interface Spawned {
  readonly child: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

class PipedProgram implements Running {
  readonly #client: Connection;
  readonly #start: Start;
  readonly #spawned: Spawned;
  readonly #pid: number;
  /** Of its two outputs and itself, those that have not ended. */
  #open = 3;
  /** How it exited. */
  #exit: { readonly status: number; readonly signal: string | null } | null = null;
  #isHungUp = false;

  constructor(client: Connection, start: Start, spawned: Spawned) {
    this.#client = client;
    this.#start = start;
    this.#spawned = spawned;
    this.#pid = spawned.child.pid ?? 0;
    const { channel } = start;
    const { child, stdin, stdout, stderr } = spawned;
    channel.pipe(stdin);
    stdin.on('error', () => {}); // it reads no more; its close follows
    stdin.on('close', () => {
      channel.resume();
    }); // what nobody reads must not keep the client from going on
    this.#carry(stdout, 'out');
    this.#carry(stderr, 'error');
    child.on('exit', (code, signal) => {
      this.#exit = { status: code ?? SIGNALLED_STATUS, signal };
      stdin.destroy();
      this.#ended();
    });
  }

  signal(name: NodeJS.Signals): void {
    if (this.#exit === null) send(this.#pid, name);
  }

  resize(): void {}

  hangUp(ms: number, over: () => void): void {
    this.#isHungUp = true;
    const { stdin, stdout, stderr } = this.#spawned;
    for (const stream of [stdin, stdout, stderr]) stream.destroy();
    hangUp(this.#exit === null ? groupsOf(this.#pid) : groupsLeftBy(this.#pid), ms, over);
  }

  #carry(stream: Readable, kind: 'out' | 'error'): void {
    this.#start.writer.from(stream, kind, this.#start.seen);
    stream.on('error', () => {});
    stream.on('close', () => {
      if (this.#open === 2 && this.#exit === null) setTimeout(() => this.#endEarly(), EXIT_AWAITED_MS);
      this.#ended();
    });
  }

  /**
   * It says nothing more and lives on. Where the client is done too it would close the channel now, and never hear of
   * the exit.
   */
  #endEarly(): void {
    const { channel, writer } = this.#start;
    if (this.#exit === null && !this.#isHungUp && !hasEnded(channel))
      writer.whenEmpty(() => sendEnd(this.#client, channel));
  }

  #ended(): void {
    this.#open -= 1;
    const exit = this.#exit;
    if (this.#open === 0 && exit !== null && !this.#isHungUp)
      this.#start.writer.whenEmpty(() => this.#start.ended(exit.status, exit.signal));
  }
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
