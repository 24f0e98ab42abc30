/**
 * What a proxy server asks of whoever runs it. The servers know the wire; who may come in and how a stream is opened is
 * not theirs.
 */
import type { Socket } from 'node:net';
import { plainAddress } from '../net/addresses.ts';
import type { Dialled } from '../net/streams/dialled.ts';

/** What a client showed. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/**
 * Whether a client may use the proxy, and as whom: the username selects the mode. `throttled`: too many wrong ones from
 * its address.
 */
export type Admission =
  | { readonly ok: true; readonly username: string }
  | { readonly ok: false; readonly reason: 'credentials' | 'throttled' };

/** Where a client wants to go, as it wrote it: a name, an IPv4 address, or an IPv6 address without brackets. */
export interface DialRequest {
  readonly username: string;
  readonly host: string;
  /** 1 to 65535. */
  readonly port: number;
}

/** Asked by every proxy server. */
export interface ProxyPorts {
  /** Credentials are null when the client showed none. Answers at once; keys are compared in constant time. */
  admit(credentials: Credentials | null, clientAddress: string): Admission;
  /** Opens a stream to the target; it is connected when this resolves. Never rejects. Aborting gives up. */
  dial(request: DialRequest, signal: AbortSignal): Promise<Dialled>;
}

/** Address of a client, as `admit` wants it: IPv4 addresses of a socket that listens on both are plain. */
export function clientAddress(socket: Socket): string {
  return plainAddress(socket.remoteAddress ?? '');
}
