/** A program of a session, whether it has a terminal or not. */
import type { ServerChannel } from 'ssh2';
import type { Launch } from './launch.ts';
import type { ChannelWriter, Seen } from './channel-writer.ts';

/** A program that runs. After its end nothing of this does anything. */
export interface Running {
  /** Sends a signal to its process group. */
  signal(name: NodeJS.Signals): void;
  /** New size of its terminal, if it has one. */
  resize(columns: number, rows: number): void;
  /**
   * Its client is gone: HUP, and KILL after `ms`. Nothing of its output is read any more. `over` is called when no
   * process is left to end.
   */
  hangUp(ms: number, over: () => void): void;
}

/** Sides of a terminal, in characters, as a client asked for them. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** What a program is given. */
export interface Start {
  readonly launch: Launch;
  readonly channel: ServerChannel;
  readonly writer: ChannelWriter;
  /** Is shown the output. */
  readonly seen?: Seen;
  /** All output is with the client, and this is how the program ended. Called once, unless it is hung up. */
  readonly ended: (status: number, signal: string | null) => void;
}
