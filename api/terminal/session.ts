/** One terminal: what its client says and hears, from the first message to the last. */
import type { WebSocket } from 'ws';
import type { Clock } from '../../actors/ports.ts';
import { ok, type Refusal, type Result } from '../../actors/refusal.ts';
import type { Log } from '../../transport/net/log.ts';
import { fullBucket, take } from '../../transport/net/token-bucket.ts';
import type { CallOperation } from '../call.ts';
import { catalogue } from '../catalogue.ts';
import type { Caller } from '../principals.ts';
import type { TerminalCounters } from './counters.ts';
import {
  AGE_MS_MAX,
  GIVING_UP_MS_MAX,
  IDLE_MS_MAX,
  LOGIN_MS_MAX,
  MESSAGES,
  OPENING_MS_MAX,
  REVOKED_MS_MAX,
} from './limits.ts';
import {
  CHANNELS,
  clientMessage,
  CLOSE_CODE,
  type ClientMessage,
  type OpenMessage,
  type OverReason,
  type ServiceMessage,
} from './messages.ts';
import type { RemoteTerminal, SignIn, Terminals } from './ports.ts';
import { letIn } from './temporary-key.ts';
import { Transfer } from './transfer.ts';
import { Window } from './window.ts';

/** What terminals are made with. */
export interface TerminalKit {
  readonly terminals: Terminals;
  readonly call: CallOperation;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: TerminalCounters;
  /** A place among the terminals of a node; what gives it back. Null: there is none. */
  readonly placeOf: (node: string) => (() => void) | null;
  /** Whether nodes are told to record what has a terminal. */
  isRecorded(): boolean;
}

/** Whose it is. */
export interface TerminalClient {
  readonly socket: WebSocket;
  /** Each call has a request id of its own. */
  readonly caller: () => Caller;
}

/** The terminal of one connection. */
export class TerminalSession {
  readonly #kit: TerminalKit;
  readonly #client: TerminalClient;
  readonly #ends: (() => void)[] = [];
  readonly #aborted = new AbortController();
  /** Once it has let go of the machine, where it is over. */
  hungUp: Promise<void> = Promise.resolve();
  readonly #shellDown = new Window();
  readonly #shellUp = new Window();
  #state: 'new' | 'opening' | 'open' | 'over' = 'new';
  #messages = fullBucket(MESSAGES);
  #remote: RemoteTerminal | null = null;
  #transfer: Transfer | null = null;
  #signed: ((signature: Uint8Array) => void) | null = null;
  #cancelIdle: () => void = () => {};
  #exit: { readonly code: number | null; readonly signal: string | null } | null = null;

  constructor(kit: TerminalKit, client: TerminalClient) {
    this.#kit = kit;
    this.#client = client;
    const { socket } = client;
    socket.on('message', (data, isBinary) => this.#heard(data as Buffer, isBinary));
    socket.once('close', () => this.over('cut', ''));
    this.#ends.push(
      kit.clock.after(OPENING_MS_MAX, () => {
        if (this.#state === 'new') this.over('misused', 'Nothing was said of where to.');
      }),
      kit.clock.after(AGE_MS_MAX, () => this.over('old', 'This terminal was open for 12 hours.')),
    );
  }

  /** Ends it, and says why to whoever is still there. The first reason counts. */
  over(reason: OverReason, message: string): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#kit.counters.ended(reason);
    this.#say({ type: 'over', reason, message });
    this.#client.socket.close(CLOSE_CODE[reason], reason);
    this.#aborted.abort();
    this.#cancelIdle();
    this.hungUp = this.#hangUp(reason === 'session_over' ? REVOKED_MS_MAX : GIVING_UP_MS_MAX);
    for (const end of this.#ends) end();
  }

  /** Ends the connection to the machine, once that has taken back what is there of a file. */
  async #hangUp(msMax: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancel = this.#kit.clock.after(msMax, late.resolve);
    await Promise.race([this.#transfer?.close(), late.promise]);
    cancel();
    this.#remote?.end();
  }

  #heard(data: Buffer, isBinary: boolean): void {
    if (this.#state === 'over') return;
    const taking = take(this.#messages, MESSAGES, 1, this.#kit.clock.nowMs());
    this.#messages = taking.bucket;
    if (!taking.isTaken) return this.over('misused', 'More messages came than anybody can type.');
    if (isBinary) return this.#heardBytes(data);
    const message = clientMessage(data);
    if (typeof message === 'string') return this.over('misused', message);
    this.#heardMessage(message);
  }

  #heardBytes(data: Buffer): void {
    const bytes = data.subarray(1);
    const isOf = (channel: keyof typeof CHANNELS): boolean => data[0] === CHANNELS[channel];
    if (this.#remote === null || bytes.length === 0 || !(isOf('shell') || isOf('file')))
      return this.over('misused', 'Bytes came that belong to nothing.');
    this.#active();
    this.#kit.counters.bytes.up += bytes.length;
    if (isOf('file')) {
      if (this.#transfer?.arrived(bytes) !== true) this.over('misused', TOO_MUCH);
      return;
    }
    if (!this.#shellUp.sent(bytes.length)) return this.over('misused', TOO_MUCH);
    this.#remote.write(bytes, () => {
      this.#shellUp.taken(bytes.length);
      this.#say({ type: 'taken', channel: 'shell', bytes: bytes.length });
    });
  }

  #heardMessage(message: ClientMessage): void {
    if (message.type === 'open') {
      if (this.#state !== 'new') return this.over('misused', 'A connection has one terminal.');
      this.#state = 'opening';
      void this.#open(message);
      return;
    }
    if (message.type === 'signature') {
      this.#signed?.(Buffer.from(message.signature, 'base64'));
      this.#signed = null;
      return;
    }
    if (message.type === 'ping') return this.#say({ type: 'pong' }); // no use: pages ask by themselves
    const [remote, transfer] = [this.#remote, this.#transfer];
    if (remote === null || transfer === null) return this.over('misused', 'The terminal is not open yet.');
    if (message.type === 'taken') return this.#taken(message, remote, transfer);
    this.#active();
    if (message.type === 'resize') return remote.resize(message);
    transfer.ask(message).catch((error: unknown) => {
      this.#kit.log.error({ error }, 'a file of a terminal failed');
      this.over('cut', 'Something went wrong here. The log has it.');
    });
  }

  #taken(
    { channel, bytes }: Extract<ClientMessage, { readonly type: 'taken' }>,
    remote: RemoteTerminal,
    transfer: Transfer,
  ): void {
    const isRight = channel === 'file' ? transfer.taken(bytes) : this.#shellDown.taken(bytes);
    if (!isRight) return this.over('misused', TOO_MUCH);
    if (channel === 'shell' && this.#shellDown.room > 0) remote.resume();
  }

  async #open(message: OpenMessage): Promise<void> {
    const { node_id: node, username } = message;
    const { log } = this.#kit;
    const caller = this.#client.caller();
    const cancel = this.#kit.clock.after(LOGIN_MS_MAX, () =>
      this.over('refused', 'The node did not let you in within 30 seconds.'),
    );
    try {
      const opened = await this.#reach(message);
      cancel();
      if (!opened.ok) return this.over('refused', wordsOf(opened.refusal));
      if (this.#aborted.signal.aborted) return opened.value.remote.end();
      const { remote, isKnown } = opened.value;
      this.#remote = remote;
      this.#state = 'open';
      this.#transfer = new Transfer({
        files: remote.files,
        say: (said) => this.#say(said),
        sendBytes: (bytes) => this.#sendBytes('file', bytes),
      });
      this.#active();
      this.#kit.counters.opened += 1;
      log.info({ node, username, address: caller.address, request_id: caller.requestId }, 'a terminal was opened');
      this.#ends.push(() => log.info({ node, username, request_id: caller.requestId }, 'a terminal was closed'));
      this.#say({
        type: 'opened',
        is_recorded: this.#kit.isRecorded(),
        host_key: { fingerprint: remote.hostKey, is_known: isKnown },
        answers_pings: true,
      });
    } catch (error) {
      cancel();
      log.error({ error, node, request_id: caller.requestId }, 'a terminal could not be opened');
      this.over('refused', 'Something went wrong here. The log has it.');
    }
  }

  async #reach({
    node_id: id,
    username,
    sign_in: given,
    terminal: size,
  }: OpenMessage): Promise<Result<{ readonly remote: RemoteTerminal; readonly isKnown: boolean }>> {
    const { call, terminals, placeOf } = this.#kit;
    const { caller } = this.#client;
    const found = await call(catalogue.get_node, { id }, caller());
    if (!found.ok) return found;
    const place = placeOf(id);
    if (place === null) return { ok: false, refusal: NO_PLACE };
    this.#onOver(place);
    if (given.type === 'key' && given.is_new) {
      const key = await letIn(this.#kit, { node: id, username, publicKey: given.public_key, caller });
      if (!key.ok) return key;
      this.#onOver(key.value);
    }
    const hostKey = found.value.facts?.ssh_host_key ?? null;
    const opened = await terminals.open(
      { node: id, sshPort: found.value.ssh_port, username, signIn: this.#signIn(given), hostKey, size },
      {
        data: (bytes) => this.#sendShell(bytes),
        exit: (code, signal) => {
          this.#exit = { code, signal };
          this.#say({ type: 'exit', code, signal });
        },
        closed: (why) => this.over(this.#exit === null ? 'cut' : 'exited', why ?? ''),
      },
      this.#aborted.signal,
    );
    return opened.ok ? ok({ remote: opened.value, isKnown: hostKey !== null }) : opened;
  }

  /** What the client shows; a key of its own signs there. */
  #signIn(given: OpenMessage['sign_in']): SignIn {
    if (given.type === 'password') return given;
    return {
      type: 'key',
      publicKey: given.public_key,
      sign: (data) =>
        new Promise((resolve) => {
          this.#signed = resolve;
          this.#say({ type: 'sign', data: Buffer.from(data).toString('base64') });
        }),
    };
  }

  /** At its end, also where that was meanwhile. */
  #onOver(end: () => void): void {
    if (this.#state === 'over') end();
    else this.#ends.push(end);
  }

  #sendShell(bytes: Uint8Array): void {
    if (this.#state === 'over') return;
    this.#shellDown.sent(bytes.length);
    if (this.#shellDown.room <= 0) this.#remote?.pause();
    this.#sendBytes('shell', bytes);
  }

  #sendBytes(channel: keyof typeof CHANNELS, bytes: Uint8Array): void {
    const { socket } = this.#client;
    if (socket.readyState !== socket.OPEN) return;
    this.#kit.counters.bytes.down += bytes.length;
    socket.send(Buffer.concat([Buffer.of(CHANNELS[channel]), bytes]));
  }

  #say(message: ServiceMessage): void {
    const { socket } = this.#client;
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
  }

  /** Somebody is there: what is unused is closed after a while. */
  #active(): void {
    this.#cancelIdle();
    this.#cancelIdle = this.#kit.clock.after(IDLE_MS_MAX, () => this.over('idle', 'Nobody typed for 30 minutes.'));
  }
}

/** What a refusal says, with what is wrong where. */
function wordsOf({ message, details }: Refusal): string {
  const wrong = Object.entries(details ?? {}).map(([field, problems]) => `${field} ${problems.join(', ')}`);
  return wrong.length === 0 ? message : `${message}: ${wrong.join('; ')}.`;
}

const TOO_MUCH = 'More bytes came, or were said to have been taken, than there is room for.';
const NO_PLACE: Refusal = {
  code: 'service_unavailable',
  message: 'This node has as many terminals as it may. Close one first.',
  retryAfterSeconds: 1,
};
