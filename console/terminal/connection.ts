/** The connection of one terminal: a WebSocket of its own, by the session of the console. */
import { promptWebSocket } from '../../api/client/prompt-web-socket.ts';
import type { Channel, ClientMessage, ServiceMessage } from '../../api/terminal/messages.ts';
import { TERMINAL } from '../texts/terminal.ts';
import { askForSignsOfLife, type SignOfLife } from '../sign-of-life.ts';
import { base64, bytesOf, makeBrowserKey, type BrowserKey } from './browser-key.ts';

/** What both sides have agreed on. Source: api/terminal/messages.ts and limits.ts. */
const PROTOCOL = 'edge.terminal.v1';
const CHANNELS = { shell: 0, file: 1 } as const satisfies Record<Channel, number>;
const WINDOW_BYTES = 262_144;

/**
 * What one message carries. Each is told as taken once it has arrived, which is a sign of life: at 16 kbit/s in time
 * for SIGN_OF_LIFE, whose own answer waits behind all that is under way.
 */
const PIECE_BYTES_MAX = 16_384;

/** Taken bytes are told when there are so many, or after so many ms: not each by itself. */
const TOLD_BYTES = 65_536;
const TOLD_MS = 50;

/** Bytes that wait to be sent, before more of what somebody types is left out. */
const WAITING_BYTES_MAX = 4_194_304;

/** As on the connection of the page: live.ts. */
const SIGN_OF_LIFE: SignOfLife = {
  question: JSON.stringify({ type: 'ping' } satisfies ClientMessage),
  silenceMs: 5_000,
  answerMs: 3_000,
  quietMs: 15_000,
};

/**
 * From saying where to until it is open, in ms. The admin itself gives up after 30 s and says so: LOGIN_MS_MAX of
 * api/terminal/limits.ts. Whose path died meanwhile hears nothing, and nothing is asked for a sign of life before.
 */
export const OPENED_MS_MAX = 35_000;

/** Where to, and as whom. */
export interface Login {
  readonly node: string;
  readonly username: string;
  readonly signIn: { readonly type: 'password'; readonly password: string } | { readonly type: 'key' };
  readonly size: { readonly columns: number; readonly rows: number };
}

/** What is heard of it. */
export interface ConnectionHeard {
  said(message: Exclude<ServiceMessage, { readonly type: 'sign' | 'taken' | 'pong' | 'over' }>): void;
  /** `taken` is to be called when they were drawn or kept. */
  bytes(channel: Channel, bytes: Uint8Array<ArrayBuffer>, taken: () => void): void;
  /** Once. Null: the connection went without a word. */
  over(message: Extract<ServiceMessage, { readonly type: 'over' }> | null): void;
}

/** Who sends a file. */
export interface Sending {
  /** Whether it is still to be sent. */
  readonly isWanted: () => boolean;
  /** So many bytes more are on their way. */
  readonly sent: (bytes: number) => void;
}

/** One terminal. */
export class Connection {
  readonly #socket: WebSocket;
  readonly #login: Login;
  readonly #heard: ConnectionHeard;
  /** Its own: it is deleted with this terminal, and ends what else it opened. */
  #key: BrowserKey | null = null;
  readonly #underWay: Record<Channel, number> = { shell: 0, file: 0 };
  readonly #untold: Record<Channel, number> = { shell: 0, file: 0 };
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #roomMade: (() => void) | null = null;
  #isOver = false;
  #isOpen = false;
  #teller: ReturnType<typeof setTimeout> | null = null;
  #late: ReturnType<typeof setTimeout> | undefined;

  constructor(login: Login, heard: ConnectionHeard) {
    this.#login = login;
    this.#heard = heard;
    this.#socket = new (promptWebSocket())(`${location.origin.replace(/^http/u, 'ws')}/console/terminal`, PROTOCOL);
    this.#socket.binaryType = 'arraybuffer';
    this.#socket.addEventListener('open', () => void this.#open());
    this.#socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) =>
      typeof data === 'string' ? this.#said(JSON.parse(data) as ServiceMessage) : this.#bytes(new Uint8Array(data)),
    );
    this.#socket.addEventListener('close', () => this.#over(null));
  }

  /** Bytes that somebody typed and that have not arrived at the machine. */
  get untakenBytes(): number {
    return this.#underWay.shell + this.#waitingBytes;
  }

  /** What somebody types. Beyond what may wait it is left out; false then. */
  type(bytes: Uint8Array): boolean {
    if (this.#waitingBytes + bytes.length > WAITING_BYTES_MAX) return false;
    for (let begin = 0; begin < bytes.length; begin += PIECE_BYTES_MAX)
      this.#waiting.push(bytes.subarray(begin, begin + PIECE_BYTES_MAX));
    this.#waitingBytes += bytes.length;
    this.#sendWaiting();
    return true;
  }

  say(message: Exclude<ClientMessage, { readonly type: 'open' | 'signature' | 'taken' | 'ping' }>): void {
    if (this.#isOpen) this.#send(message);
  }

  /** A piece of a file, part after part as there is room. False: it is over, or nobody wants it any more. */
  async sendPiece(piece: Uint8Array, { isWanted, sent }: Sending): Promise<boolean> {
    for (let begin = 0; begin < piece.length; begin += PIECE_BYTES_MAX) {
      const part = piece.subarray(begin, begin + PIECE_BYTES_MAX);
      while (!this.#isOver && isWanted() && this.#underWay.file + part.length > WINDOW_BYTES)
        await new Promise<void>((resolve) => (this.#roomMade = resolve));
      if (this.#isOver || !isWanted()) return false;
      this.#sendBytes('file', part);
      sent(part.length);
    }
    return true;
  }

  close(): void {
    this.#socket.close(1_000);
    this.#over(null);
  }

  async #open(): Promise<void> {
    const { node, username, size } = this.#login;
    const signIn = await this.#signIn();
    if (signIn === null) return this.#notSigned();
    if (!this.#isOver) this.#late = setTimeout(() => this.#socket.close(), OPENED_MS_MAX);
    this.#send({
      type: 'open',
      node_id: node as Extract<ClientMessage, { readonly type: 'open' }>['node_id'],
      username,
      sign_in: signIn,
      terminal: { ...size },
    });
  }

  /** Null: no key can be made. */
  async #signIn(): Promise<Extract<ClientMessage, { readonly type: 'open' }>['sign_in'] | null> {
    const { signIn } = this.#login;
    if (signIn.type === 'password') return signIn;
    this.#key = await makeBrowserKey();
    return this.#key && { type: 'key', public_key: this.#key.line, is_new: true };
  }

  #said(message: ServiceMessage): void {
    if (message.type === 'sign') return this.#sign(message.data);
    if (message.type === 'pong') return;
    if (message.type === 'over') return this.#over(message);
    if (message.type === 'taken') {
      this.#underWay[message.channel] -= message.bytes;
      if (message.channel === 'shell') this.#sendWaiting();
      else this.#makeRoom();
      return;
    }
    if (message.type === 'opened') this.#opened(message);
    this.#heard.said(message);
    if (message.type === 'opened') this.#sendWaiting();
  }

  #opened({ answers_pings: answersPings }: Extract<ServiceMessage, { readonly type: 'opened' }>): void {
    this.#isOpen = true;
    clearTimeout(this.#late);
    if (answersPings) askForSignsOfLife(this.#socket, window, SIGN_OF_LIFE);
  }

  #sign(data: string): void {
    void this.#key?.sign(bytesOf(data)).then(
      (signature) => this.#send({ type: 'signature', signature: base64(signature) }),
      () => this.#notSigned(),
    );
  }

  #notSigned(): void {
    this.#socket.close(1_000);
    this.#over({ type: 'over', reason: 'refused', message: TERMINAL.notSigned });
  }

  #bytes(data: Uint8Array<ArrayBuffer>): void {
    const channel: Channel = data[0] === CHANNELS.shell ? 'shell' : 'file';
    const bytes = data.subarray(1);
    this.#heard.bytes(channel, bytes, () => this.#took(channel, bytes.length));
  }

  #took(channel: Channel, bytes: number): void {
    this.#untold[channel] += bytes;
    if (this.#untold[channel] >= TOLD_BYTES) this.#tell();
    else this.#teller ??= setTimeout(() => this.#tell(), TOLD_MS);
  }

  #tell(): void {
    if (this.#teller !== null) clearTimeout(this.#teller);
    this.#teller = null;
    for (const channel of ['shell', 'file'] as const) {
      const bytes = this.#untold[channel];
      this.#untold[channel] = 0;
      if (bytes > 0) this.#send({ type: 'taken', channel, bytes });
    }
  }

  #sendWaiting(): void {
    for (;;) {
      const [next] = this.#waiting;
      if (!this.#isOpen || next === undefined || this.#underWay.shell + next.length > WINDOW_BYTES) return;
      this.#waiting.shift();
      this.#waitingBytes -= next.length;
      this.#sendBytes('shell', next);
    }
  }

  #sendBytes(channel: Channel, bytes: Uint8Array): void {
    const message = new Uint8Array(1 + bytes.length);
    message[0] = CHANNELS[channel];
    message.set(bytes, 1);
    this.#underWay[channel] += bytes.length;
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(message);
  }

  #send(message: ClientMessage): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #makeRoom(): void {
    this.#roomMade?.();
    this.#roomMade = null;
  }

  #over(message: Extract<ServiceMessage, { readonly type: 'over' }> | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isOpen = false;
    if (this.#teller !== null) clearTimeout(this.#teller);
    clearTimeout(this.#late);
    this.#makeRoom();
    this.#heard.over(message);
  }
}
