/**
 * Recordings of sessions as asciicast, version 2 (https://docs.asciinema.org/manual/asciicast/v2/). What is typed is
 * not recorded: passwords are.
 */
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { constants, createGzip } from 'node:zlib';
import type { Gzip } from 'node:zlib';
import type { SshRecordingSettings } from '../../../../transport/protocol/ssh.ts';
import type { OutputKind } from '../sessions/channel-writer.ts';
import type { RecordingSidecar, RecordingSpool } from './spool.ts';

/** What is compressed goes to the disk this often, in ms: so much is missing after a crash. */
const FLUSH_MS = 5_000;

/** Text that waits to be compressed. With more the recording is cut: a session is never slowed by it. */
const WAITING_BYTES_MAX = 4_194_304;

/** Recording, given to the server. */
export interface Recording {
  readonly spool: RecordingSpool;
  /** What the admin wants now. */
  readonly settings: () => SshRecordingSettings;
}

/** What is recorded. */
export interface Recorded {
  readonly usernameId: string;
  readonly username: string;
  /** Null: a shell. */
  readonly command: string | null;
  readonly shell: string;
  /** Null: there is no terminal. */
  readonly terminal: { readonly term: string; readonly columns: number; readonly rows: number } | null;
}

/** Size that a recording without a terminal is shown in. */
const NO_TERMINAL = { term: 'dumb', columns: 80, rows: 24 };

/** Begins a recording if one is wanted and there is room, else answers null. */
export function beginRecording({ spool, settings }: Recording, recorded: Recorded): SessionRecorder | null {
  const { mode, bytes_max: bytesMax, ms_max: msMax } = settings();
  if (mode === 'off' || (mode === 'pty' && recorded.terminal === null)) return null;
  const { columns, rows } = recorded.terminal ?? NO_TERMINAL;
  const sidecar: RecordingSidecar = {
    id: randomUUID(),
    ssh_username_id: recorded.usernameId,
    username: recorded.username,
    started_at_ms: Date.now(),
    duration_ms: 0,
    width: columns,
    height: rows,
    command: recorded.command,
    truncated: true,
  };
  const path = spool.begin(sidecar);
  return path === null ? null : new SessionRecorder(spool, path, sidecar, recorded, bytesMax, msMax);
}

/** One recording under way. Nothing of it throws, and nothing of it makes a session wait. */
export class SessionRecorder {
  readonly #sidecar: RecordingSidecar;
  readonly #gzip: Gzip = createGzip({ level: constants.Z_BEST_SPEED });
  readonly #decoders: Readonly<Record<OutputKind, StringDecoder>> = {
    out: new StringDecoder('utf8'),
    error: new StringDecoder('utf8'),
  };
  readonly #beganMs = performance.now();
  readonly #msMax: number;
  readonly #flush: NodeJS.Timeout;
  #bytesLeft: number;
  #lastMs = 0;
  #isTruncated = false;
  #isOver = false;

  constructor(
    spool: RecordingSpool,
    path: string,
    sidecar: RecordingSidecar,
    recorded: Recorded,
    bytesMax: number,
    msMax: number,
  ) {
    this.#sidecar = sidecar;
    this.#bytesLeft = bytesMax;
    this.#msMax = msMax;
    const file = createWriteStream(path, { mode: 0o600 });
    file.on('error', () => this.#cut()); // a full disk; what is there already is kept
    this.#gzip.on('error', () => this.#cut());
    this.#gzip.on('data', (data: Buffer) => {
      if (!spool.grew(data.length)) this.#cut();
    });
    this.#gzip.pipe(file);
    file.on('close', () =>
      spool.finish({ ...this.#sidecar, duration_ms: Math.round(this.#lastMs), truncated: this.#isTruncated }),
    );
    this.#flush = setInterval(() => this.#gzip.flush(constants.Z_SYNC_FLUSH), FLUSH_MS);
    this.#flush.unref();
    const { term } = recorded.terminal ?? NO_TERMINAL;
    this.#line({
      version: 2,
      width: sidecar.width,
      height: sidecar.height,
      timestamp: Math.floor(sidecar.started_at_ms / 1_000),
      ...(recorded.command !== null && { command: recorded.command }),
      env: { TERM: term, SHELL: recorded.shell },
    });
    this.#gzip.flush(constants.Z_SYNC_FLUSH);
  }

  /** Whether what comes now is recorded: the session is not over, nor is the recording cut or as long as it may be. */
  get isRecording(): boolean {
    return !this.#isTruncated && !this.#isOver && performance.now() - this.#beganMs <= this.#msMax;
  }

  /** The program wrote this. */
  output(kind: OutputKind, data: Buffer): void {
    if (this.#isTruncated || this.#isOver) return;
    this.#text(this.#decoders[kind].write(data));
  }

  /** The terminal has another size now. */
  resized(columns: number, rows: number): void {
    if (!this.#isTruncated && !this.#isOver) this.#event('r', `${columns}x${rows}`);
  }

  /** The session is over. */
  end(): void {
    if (this.#isOver) return;
    if (!this.#isTruncated) for (const decoder of Object.values(this.#decoders)) this.#text(decoder.end());
    this.#isOver = true;
    clearInterval(this.#flush);
    if (!this.#isTruncated) this.#lastMs = Math.min(performance.now() - this.#beganMs, this.#msMax);
    this.#gzip.end();
  }

  #text(text: string): void {
    if (text !== '') this.#event('o', text);
  }

  #event(code: 'o' | 'r', text: string): void {
    const ms = performance.now() - this.#beganMs;
    if (ms > this.#msMax || this.#gzip.writableLength > WAITING_BYTES_MAX) return this.#cut();
    const seconds = Number((ms / 1_000).toFixed(6));
    const fits = fitting(text, (part) => Buffer.byteLength(lineOf([seconds, code, part])), this.#bytesLeft);
    if (fits !== '') {
      this.#lastMs = ms;
      this.#line([seconds, code, fits]);
    }
    if (fits !== text) this.#cut();
  }

  #line(value: unknown): void {
    const line = lineOf(value);
    this.#bytesLeft -= Buffer.byteLength(line);
    this.#gzip.write(line);
  }

  #cut(): void {
    this.#isTruncated = true;
  }
}

function lineOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

/**
 * The beginning of a text whose line has room. Escapes make a line up to six times as long as its text, and the admin
 * takes no more than it said.
 */
function fitting(text: string, bytesOf: (text: string) => number, bytesLeft: number): string {
  let fits = text;
  for (let bytes = bytesOf(fits); bytes > bytesLeft && fits !== ''; bytes = bytesOf(fits)) {
    fits = fits.slice(0, Math.floor((fits.length * Math.max(0, bytesLeft)) / bytes)).replace(/[\uD800-\uDBFF]$/u, '');
  }
  return fits;
}
