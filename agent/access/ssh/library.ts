/**
 * What this server needs of ssh2 and ssh2 does not offer. All that is used of its insides stands here, for exactly the
 * version in package.json; a test looks whether it is still there.
 */
/* eslint-disable no-underscore-dangle -- these are the names of ssh2's insides */
import type { Socket } from 'node:net';
import type { Connection, ServerChannel, Session } from 'ssh2';
import { SSH_PACKET_BYTES_MIN } from '../../../transport/protocol/limits.ts';
import { GOODBYE_MS_MAX } from './limits.ts';

/** Why a client is told goodbye. Source: RFC 4253, 11.1. */
export const DISCONNECT = {
  protocolError: 2,
  byApplication: 11,
  tooManyConnections: 12,
  noMoreAuthMethods: 14,
} as const;

/** Why a channel is not opened. Source: RFC 4254, 5.1. */
export const OPEN_FAILURE = { prohibited: 1, connectFailed: 2, resourceShortage: 4 } as const;

/** Signals that the protocol has a name for. Source: RFC 4254, 6.10. */
export const SSH_SIGNALS = [
  'ABRT',
  'ALRM',
  'FPE',
  'HUP',
  'ILL',
  'INT',
  'KILL',
  'PIPE',
  'QUIT',
  'SEGV',
  'TERM',
  'USR1',
  'USR2',
] as const;

/** A message number of RFC 4253, 12. */
const MSG_DISCONNECT = 1;

/** Sockets that are about to be cut. */
const ENDING = new WeakSet<Socket>();

interface Half {
  readonly id: number;
  window: number;
  state: 'open' | 'eof' | 'closing' | 'closed';
}

interface ChannelInsides {
  readonly incoming: Half;
  readonly outgoing: Half;
  _chunk: Buffer | undefined;
  _chunkcb: (() => void) | undefined;
  _chunkErr: Buffer | undefined;
  _chunkcbErr: (() => void) | undefined;
}

interface ProtocolInsides {
  /** Gone once the connection is over: from then on everything that sends throws. */
  readonly _destruct: (() => void) | undefined;
  readonly _packetRW: {
    readonly write: {
      readonly allocStartKEX: number;
      alloc(bytes: number, isForced: boolean): Buffer;
      finalize(packet: Buffer, isForced: boolean): Buffer;
    };
  };
  readonly _cipher: { encrypt(packet: Buffer): void };
  readonly _handlers: {
    CHANNEL_DATA: (protocol: ProtocolInsides, recipient: number, data: Buffer) => void;
    CHANNEL_OPEN: (protocol: ProtocolInsides, asked: Opened) => void;
    CHANNEL_OPEN_CONFIRMATION: (protocol: ProtocolInsides, taken: Opened) => void;
  };
  channelOpenFail?(recipient: number, reason: number, text: string): void;
  channelClose(channel: number): void;
  channelFailure(channel: number): void;
  exitStatus(channel: number, status: number): void;
  exitSignal(channel: number, name: string, hasDumped: boolean, message: string): void;
}

/** A channel as the client opens it, or takes one of ours. */
interface Opened {
  readonly packetSize: number | undefined;
}

interface ClientInsides {
  readonly _sock: Socket;
  readonly _protocol: ProtocolInsides;
  readonly _chanMgr: {
    readonly _count: number;
    remove(id: number): void;
    get(id: number): { readonly _channel?: ChannelInsides; readonly incoming?: Half } | undefined;
  };
}

interface SessionInsides {
  readonly _chanInfo: { readonly incoming: Half; readonly outgoing: Half };
}

/** Whether a text is there: of one that is longer than its packet ssh2 gives none, whatever its types say. */
export function isTold(text: unknown): text is string {
  return typeof text === 'string';
}

/** Ends a connection over which something failed that should not, and nothing else. Who hears its errors is told. */
export function giveUp(client: Connection, error: unknown): void {
  client.emit('error', error);
  socketOf(client).destroy();
}

/** The socket of a client, which is the one that was injected. */
export function socketOf(client: Connection): Socket {
  return insides(client)._sock;
}

/** Channels that are open or about to be. */
export function channelsOf(client: Connection): number {
  return insides(client)._chanMgr._count;
}

/** False once nothing can be sent to this client any more. */
export function isOpen(client: Connection): boolean {
  return insides(client)._protocol._destruct !== undefined;
}

/** Refuses a channel with a reason and a text, where `reject` of ssh2 sends always the same reason and no text. */
export function refuseChannel(client: Connection, reject: () => void, reason: number, text: string): void {
  const protocol = insides(client)._protocol;
  if (!isOpen(client)) return;
  const send = Object.getPrototypeOf(protocol).channelOpenFail as (
    this: ProtocolInsides,
    recipient: number,
    reason: number,
    text: string,
  ) => void;
  protocol.channelOpenFail = (recipient) => {
    send.call(protocol, recipient, reason, text);
  };
  try {
    reject();
  } finally {
    delete protocol.channelOpenFail;
  }
}

/**
 * Closes a channel whose client closed it before it had a program, and makes room for another, where ssh2 does neither.
 * Source: RFC 4254, 5.3.
 */
export function closeUnused(client: Connection, session: Session): void {
  const { incoming, outgoing } = (session as unknown as SessionInsides)._chanInfo;
  const { _chanMgr: channels, _protocol: protocol } = insides(client);
  if (isOpen(client)) protocol.channelClose(outgoing.id);
  channels.remove(incoming.id);
}

/** Says goodbye with a text that the client shows, where ssh2 sends none, and ends the connection. */
export function disconnect(client: Connection, reason: number, text: string): void {
  if (isOpen(client)) {
    const {
      _packetRW: { write },
      _cipher: cipher,
    } = insides(client)._protocol;
    const message = Buffer.from(text);
    const body = Buffer.alloc(1 + 4 + 4 + message.length + 4);
    body.writeUInt8(MSG_DISCONNECT, 0);
    body.writeUInt32BE(reason, 1);
    body.writeUInt32BE(message.length, 5);
    message.copy(body, 9);
    const packet = write.alloc(body.length, true);
    body.copy(packet, write.allocStartKEX);
    cipher.encrypt(write.finalize(packet, true));
  }
  // Nothing that it still sends is heard: whoever was told goodbye must not start a program, nor try another password.
  const socket = socketOf(client).removeAllListeners('data').resume();
  socket.end();
  cutSoon(socket);
}

/** Cuts a connection that is over in a moment, also where its client reads nothing, and so never hears of its end. */
export function cutSoon(socket: Socket): void {
  if (ENDING.has(socket)) return;
  ENDING.add(socket);
  setTimeout(() => socket.destroy(), GOODBYE_MS_MAX).unref();
}

/** Sends how a program ended, also behind its last byte, where ssh2 sends nothing any more. */
export function sendExit(client: Connection, channel: ServerChannel, status: number, signal: string | null): void {
  const { outgoing } = inside(channel);
  if (!isOpen(client) || (outgoing.state !== 'open' && outgoing.state !== 'eof')) return;
  const protocol = insides(client)._protocol;
  const name = signal?.replace(/^SIG/u, '');
  if (name !== undefined && (SSH_SIGNALS as readonly string[]).includes(name))
    protocol.exitSignal(outgoing.id, name, false, '');
  else protocol.exitStatus(outgoing.id, status);
}

/** Ends our half: the client reads an end, and may still write. `Channel.end` of ssh2 closes both at once. */
export function sendEnd(client: Connection, channel: ServerChannel): void {
  if (isOpen(client)) (channel as unknown as { eof(): void }).eof();
}

/**
 * Whether the client has said that it sends nothing more: an OpenSSH client then closes the channel as soon as our half
 * ends, and takes no exit status behind that.
 */
export function hasEnded(channel: ServerChannel): boolean {
  return inside(channel).incoming.state !== 'open';
}

/** Nothing is written to this channel any more, nor asked of it: its connection is over, and ssh2 would throw. */
export function silence(channel: ServerChannel): void {
  inside(channel).outgoing.state = 'closed';
}

/**
 * To be called after each write of a channel and its stderr, of which only one may be under way: ssh2 keeps the rest of
 * a write that waited for the window, and would write it again when a later one waits.
 */
export function forgetWritten(channel: ServerChannel): void {
  const kept = inside(channel);
  kept._chunk = kept._chunkcb = kept._chunkErr = kept._chunkcbErr = undefined;
}

/**
 * Calls `violated`, with one sentence for the client, when it sends more than its window, which ssh2 would keep in
 * memory without end, or takes no packet that anything fits into, which ssh2 would fill for ever.
 */
export function guardChannels(client: Connection, violated: (problem: string) => void): void {
  const {
    _protocol: { _handlers: handlers },
    _chanMgr: channels,
  } = insides(client);
  const { CHANNEL_DATA: handle, CHANNEL_OPEN: open, CHANNEL_OPEN_CONFIRMATION: take } = handlers;
  handlers.CHANNEL_DATA = (protocol, recipient, data) => {
    const entry = channels.get(recipient);
    const half = (entry?._channel ?? entry)?.incoming;
    if (half !== undefined && data.length > half.window) violated('You sent more than the window allows');
    else handle(protocol, recipient, data);
  };
  const guarded =
    (next: typeof open): typeof open =>
    (protocol, opened) => {
      if ((opened.packetSize ?? 0) >= SSH_PACKET_BYTES_MIN) next(protocol, opened);
      else violated(`Your channels must take packets of ${SSH_PACKET_BYTES_MIN} bytes`);
    };
  handlers.CHANNEL_OPEN = guarded(open);
  handlers.CHANNEL_OPEN_CONFIRMATION = guarded(take);
}

function insides(client: Connection): ClientInsides {
  return client as unknown as ClientInsides;
}

function inside(channel: ServerChannel): ChannelInsides {
  return channel as unknown as ChannelInsides;
}
