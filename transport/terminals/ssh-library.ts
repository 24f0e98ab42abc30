/**
 * What a client needs of ssh2 and ssh2 does not offer: bounds of what a server makes it keep. All that is used of its
 * insides stands here, for exactly the version in package.json.
 */
/* eslint-disable no-underscore-dangle -- these are the names of ssh2's insides */
import type { Duplex } from 'node:stream';
import type { Client } from 'ssh2';
import { KEY_EXCHANGE_MS_MAX } from '../net/ssh/limits.ts';
import { guardPeer } from '../net/ssh/peer-guard.ts';
import { SSH_PACKET_BYTES_MIN } from '../protocol/limits.ts';

/**
 * Answers that wait for the server to read them before nothing more is read of it, in bytes. As at the agent's server.
 */
export const ANSWERS_WAITING_BYTES_MAX = 1_048_576;

/** Extended data of the only kind there is. Source: RFC 4254, 5.2. */
const STDERR = 1;

interface Protocol {
  readonly _handlers: {
    CHANNEL_DATA: (protocol: Protocol, recipient: number, data: Buffer) => void;
    CHANNEL_EXTENDED_DATA: (protocol: Protocol, recipient: number, data: Buffer, type: number) => void;
    CHANNEL_OPEN_CONFIRMATION: (protocol: Protocol, taken: { readonly packetSize: number }) => void;
  };
}

interface Insides {
  readonly _protocol?: Protocol;
  readonly _chanMgr: {
    get(id: number): { readonly incoming?: { readonly window: number }; readonly stderr?: Stderr } | undefined;
  };
}

/** Of files it is none that can be read. */
interface Stderr {
  readonly readable: boolean;
}

/** Bounds what the server of a client that connects by `stream` makes it keep. `violated`: it is to be cut. */
export function boundServer(client: Client, stream: Duplex, violated: () => void): void {
  const { _protocol: protocol } = client as unknown as Insides;
  if (protocol === undefined) return;
  guardWindows(client, protocol, violated);
  guardPackets(protocol, violated);
  boundAnswers(stream);
  // No agent asks for new keys by itself, so that none are earned.
  guardPeer(client, { peer: 'server', bytes: () => 0, keyExchangeMsMax: KEY_EXCHANGE_MS_MAX, violated });
}

/**
 * What is more than a window violates: ssh2 would keep it without end. Errors of a shell are its output, in the order
 * in which they come: both have one window, which ssh2 would open again for either while the other is full.
 */
function guardWindows(client: Client, { _handlers: handlers }: Protocol, violated: () => void): void {
  const { _chanMgr: channels } = client as unknown as Insides;
  const { CHANNEL_DATA: takeData, CHANNEL_EXTENDED_DATA: takeOther } = handlers;
  const fits = (recipient: number, { length }: Buffer): boolean => {
    const isRight = length <= (channels.get(recipient)?.incoming?.window ?? length);
    if (!isRight) violated();
    return isRight;
  };
  handlers.CHANNEL_DATA = (self, recipient, data) => {
    if (fits(recipient, data)) takeData(self, recipient, data);
  };
  handlers.CHANNEL_EXTENDED_DATA = (self, recipient, data, type) => {
    if (!fits(recipient, data)) return;
    if (type === STDERR && channels.get(recipient)?.stderr?.readable === true) takeData(self, recipient, data);
    else takeOther(self, recipient, data, type);
  };
}

/** A server that takes no packet that anything fits into violates: ssh2 would fill such packets for ever. */
function guardPackets({ _handlers: handlers }: Protocol, violated: () => void): void {
  const { CHANNEL_OPEN_CONFIRMATION: take } = handlers;
  handlers.CHANNEL_OPEN_CONFIRMATION = (self, taken) => {
    if (taken.packetSize < SSH_PACKET_BYTES_MIN) violated();
    else take(self, taken);
  };
}

/** A server that makes this client answer and does not read is not read either. */
function boundAnswers(stream: Duplex): void {
  stream.on('data', () => {
    if (stream.writableLength <= ANSWERS_WAITING_BYTES_MAX) return;
    stream.pause();
    stream.once('drain', () => stream.resume());
  });
}
