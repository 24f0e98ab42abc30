/** One session channel: what a client asks for one after the other, and the program that comes of it. */
import type { Connection, ServerChannel, Session } from 'ssh2';
import type { SshGrant } from '../../../../transport/protocol/ssh.ts';
import type { SshOpenKind } from '../../../../transport/protocol/ssh-sessions.ts';
import type { Log } from '../../../../transport/net/log.ts';
import type { Account } from '../login/accounts.ts';
import type { Launcher, Origin, Program, SftpCommand } from './launch.ts';
import { SSH_SIGNALS, closeUnused, isOpen, sendExit, silence } from '../library.ts';
import type { SshLimits } from '../limits.ts';
import { ChannelWriter } from './channel-writer.ts';
import { beginRecording } from '../recording/recorder.ts';
import type { Recording, SessionRecorder } from '../recording/recorder.ts';
import { startPiped } from './piped.ts';
import type { PipePool } from './pipes.ts';
import type { Running, Start } from './running.ts';
import { startTerminal, type LoadPty } from './terminal.ts';
import { isVariableAccepted } from './variables.ts';

/**
 * Characters of a command: what fits the largest packet that ssh2 takes, 35,000 bytes. A longer one ends the connection
 * there; scripts go through stdin.
 */
export const COMMAND_CHARS_MAX = 32_768;

/** Sides of a terminal, in characters. The kernel keeps 16 bits; sshd and everybody's terminals are far below. */
const TERMINAL_SIDE_MAX = 4_096;

/** Characters of a terminal's name. */
const TERMINAL_NAME_CHARS_MAX = 64;

/** Exit status of a program that could not be started. Source: POSIX shells, "found but not executable". */
const NOT_STARTED_STATUS = 126;

/** A terminal that says 0 by 0 has no size: what everybody takes then. */
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/** What each program is to those who count them. Exhaustive. */
const KINDS = { shell: 'shells', command: 'commands', own: 'file_transfers' } as const satisfies Record<
  Program['type'],
  SshOpenKind
>;

/** What a session needs of its connection. */
export interface SessionHost {
  readonly client: Connection;
  readonly account: Account;
  readonly launcher: Launcher;
  readonly pipes: PipePool;
  readonly origin: Origin;
  readonly username: string;
  readonly grant: SshGrant;
  readonly recording: Recording | null;
  readonly sftpCommand: SftpCommand;
  /** Makes terminals; node-pty, unless a test has none. */
  readonly loadPty?: LoadPty | undefined;
  readonly limits: SshLimits;
  readonly log: Log;
}

/** Its life: requests before the program, the program, and the end of either side. */
export class ShellSession {
  readonly #host: SessionHost;
  readonly #ended: () => void;
  readonly #variables: Record<string, string> = {};
  #terminal: { readonly term: string; columns: number; rows: number } | null = null;
  #channel: ServerChannel | null = null;
  #program: Program | null = null;
  #writer: ChannelWriter | null = null;
  #running: Running | null = null;
  #recorder: SessionRecorder | null = null;
  #hangUpMs: number | null = null;

  /** `ended` is called once, when neither a channel nor a process of it is left. */
  constructor(session: Session, host: SessionHost, ended: () => void) {
    this.#host = host;
    let isEnded = false;
    this.#ended = () => {
      if (!isEnded) {
        isEnded = true;
        ended();
      }
    };
    session.on('env', (accept, reject, { key, val }) => {
      if (!isVariableAccepted(key, val, this.#variables)) return (reject as typeof reject | undefined)?.();
      this.#variables[key] = val;
      (accept as typeof accept | undefined)?.();
    });
    session.on('pty', (accept, reject, info) => {
      const term = (info as unknown as { term: string }).term;
      if (this.#channel !== null || term.length > TERMINAL_NAME_CHARS_MAX || !/^[\w.+-]*$/u.test(term))
        return (reject as typeof reject | undefined)?.();
      this.#terminal = {
        term: term || 'dumb',
        columns: side(info.cols, DEFAULT_COLUMNS),
        rows: side(info.rows, DEFAULT_ROWS),
      };
      (accept as typeof accept | undefined)?.();
    });
    session.on('window-change', (accept, _reject, { cols, rows }) => {
      this.#resize(side(cols, DEFAULT_COLUMNS), side(rows, DEFAULT_ROWS));
      (accept as typeof accept | undefined)?.();
    });
    session.on('signal', (accept, reject, { name }) => {
      if (!isSignal(name)) return (reject as typeof reject | undefined)?.();
      this.#running?.signal(`SIG${name}`);
      (accept as typeof accept | undefined)?.();
    });
    session.on('shell', (accept) => this.#run(accept(), { type: 'shell' }));
    session.on('exec', (accept, reject, { command }) => {
      if (command.length > COMMAND_CHARS_MAX || command.includes('\0'))
        return (reject as typeof reject | undefined)?.();
      this.#run(accept(), { type: 'command', command });
    });
    session.on('subsystem', (accept, reject, { name }) => {
      if (name !== 'sftp') return (reject as typeof reject | undefined)?.();
      this.#terminal = null;
      this.#run(accept(), { type: 'own', wordsFor: this.#host.sftpCommand });
    });
    session.on('close', () => {
      if (this.#channel === null) closeUnused(host.client, session);
      this.vanish(host.limits.hangUpMs);
    });
  }

  /** What its client has open; null: no program yet, or none any more. */
  get kind(): SshOpenKind | null {
    return this.#program === null || this.#hangUpMs !== null ? null : KINDS[this.#program.type];
  }

  /** Whether what it shows is being recorded: no more, once the recording is cut. */
  get isRecorded(): boolean {
    return this.#hangUpMs === null && (this.#recorder?.isRecording ?? false);
  }

  /** The client is gone: what runs gets HUP, and KILL after `hangUpMs`. */
  vanish(hangUpMs: number): void {
    if (this.#hangUpMs !== null) return;
    this.#hangUpMs = hangUpMs;
    this.#recorder?.end();
    this.#writer?.close();
    if (this.#channel !== null && !isOpen(this.#host.client)) silence(this.#channel);
    if (this.#running !== null) this.#running.hangUp(hangUpMs, this.#ended);
    else this.#ended();
  }

  // The channel must be taken at once: after an end of input, which may follow at once, ssh2 gives none.
  #run(channel: ServerChannel | undefined, program: Program): void {
    if (channel === undefined || this.#channel !== null) return;
    this.#channel = channel;
    this.#program = program;
    // a channel that was cut; its close says so
    for (const stream of [channel, channel.stderr]) stream.on('error', () => {});
    const writer = (this.#writer = new ChannelWriter(this.#host.client, channel));
    void this.#start(channel, writer, program).catch((error: unknown) =>
      this.#fail(channel, writer, (error as Error).message),
    );
  }

  async #start(channel: ServerChannel, writer: ChannelWriter, program: Program): Promise<void> {
    const { client, launcher, origin, pipes, account } = this.#host;
    const launch = launcher(account, program, origin, this.#variables, this.#terminal !== null);
    if (typeof launch === 'string') return this.#fail(channel, writer, launch);
    if (launch.notice !== null) writer.say('error', launch.notice);
    this.#recorder = this.#record(program, account.shell);
    const start: Start = {
      launch,
      channel,
      writer,
      ...(this.#recorder !== null && { seen: (kind, data) => this.#recorder?.output(kind, data) }),
      ended: (status, signal) => this.#finish(channel, status, signal),
    };
    const terminal = this.#terminal;
    this.#running =
      terminal === null
        ? await startPiped(client, account, pipes, start)
        : await startTerminal(account, terminal.term, terminal, start, this.#host.loadPty);
    // it may have changed while node-pty was loaded
    if (terminal !== null) this.#running.resize(terminal.columns, terminal.rows);
    if (this.#hangUpMs !== null) this.#running.hangUp(this.#hangUpMs, this.#ended); // gone meanwhile
  }

  #resize(columns: number, rows: number): void {
    if (this.#terminal === null) return;
    this.#terminal.columns = columns;
    this.#terminal.rows = rows;
    this.#running?.resize(columns, rows);
    this.#recorder?.resized(columns, rows);
  }

  #record(program: Program, shell: string): SessionRecorder | null {
    const { recording, username, grant } = this.#host;
    if (recording === null || program.type === 'own') return null; // files that are transferred are no text
    return beginRecording(recording, {
      usernameId: grant.ssh_username_id,
      username,
      command: program.type === 'command' ? program.command : null,
      shell,
      terminal: this.#terminal,
    });
  }

  #fail(channel: ServerChannel, writer: ChannelWriter, problem: string): void {
    if (this.#hangUpMs !== null) return;
    this.#host.log.warn({ problem }, 'An SSH session could not be started');
    writer.say('error', `edge-agent: ${problem}\r\n`);
    writer.whenEmpty(() => this.#finish(channel, NOT_STARTED_STATUS, null));
  }

  #finish(channel: ServerChannel, status: number, signal: string | null): void {
    if (this.#hangUpMs !== null) return;
    this.#running = null;
    this.#recorder?.end();
    sendExit(this.#host.client, channel, status, signal);
    channel.end();
    channel.resume(); // what still comes is for nobody
    this.#ended();
  }
}

/** A side of a terminal that the kernel takes. */
function side(wanted: number, fallback: number): number {
  return wanted > 0 ? Math.min(wanted, TERMINAL_SIDE_MAX) : fallback;
}

function isSignal(name: string): name is (typeof SSH_SIGNALS)[number] {
  return (SSH_SIGNALS as readonly string[]).includes(name);
}
