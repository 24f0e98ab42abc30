/**
 * An enrolled agent that opens the tunnels it is asked for and then says what no agent would: frames of HTTP/2 by hand.
 */
import { constants } from 'node:buffer';
import { once } from 'node:events';
import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import {
  PROTOCOL_VERSION,
  TUNNEL_PATH,
  TUNNEL_SUBPROTOCOL,
  TUNNEL_UPGRADE,
} from '../../../transport/protocol/version.ts';
import type { Fleet } from '../fleet.ts';
import { enrollRaw, type RawAgent, type RawSession } from '../fleet/raw-agent.ts';
import type { Scope } from '../scope.ts';

/** Types of frames. Source: RFC 9113, 6. */
export const TYPE = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goAway: 7,
  window: 8,
  continuation: 9,
} as const;

/** END_HEADERS of HEADERS, ACK of SETTINGS and PING, END_STREAM. */
export const FLAG = { endHeaders: 4, ack: 1, endStream: 1, none: 0 } as const;

/** `:status: 200`, as HPACK has it in its static table. */
export const OK = Buffer.from([0x88]);

/** One frame. */
export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

/** What a tunnel goes by. */
export const TUNNEL_KINDS = ['upgrade', 'websocket'] as const;
/** One of them. */
export type TunnelKind = (typeof TUNNEL_KINDS)[number];

/** The connection of a tunnel. */
export interface HostileSocket {
  send(bytes: Buffer, sent?: (error?: Error | null) => void): void;
  close(): void;
  terminate(): void;
}

/** A tunnel that the admin took. */
export interface HostileTunnel<Socket extends HostileSocket = WebSocket> {
  readonly socket: Socket;
  /** Ids of streams that the admin opened so far. */
  readonly streams: readonly number[];
  /** Resolves with the id of the first stream. */
  readonly firstStream: Promise<number>;
  readonly closed: Promise<void>;
  /**
   * Sends bytes again and again, as fast as they leave, until the admin cuts the tunnel or the time is over. Answers
   * how many bytes left.
   */
  flood(bytes: Buffer, ms: number): Promise<number>;
}

/** An agent whose tunnels a test plays. */
export interface HostileAgent extends RawAgent {
  readonly host: string;
  readonly session: RawSession;
  /** Called with every tunnel that the admin asks for; before, such a wish is not heard. */
  onTunnel: ((tunnel: HostileTunnel) => void) | null;
}

/** Enrols one, whose session is live. */
export async function hostileAgent(scope: Scope, fleet: Fleet): Promise<HostileAgent> {
  const raw = await enrollRaw(scope, fleet);
  const session = await raw.connect({ protocol: PROTOCOL_VERSION });
  const { vpn_hostname: host } = await fleet.rest.get<{ readonly vpn_hostname: string }>(`/nodes/${raw.node_id}`);
  const agent: HostileAgent = { ...raw, host, session, onTunnel: null };
  let seen = 0;
  const timer = setInterval(() => {
    for (const asked of session.frames.slice(seen)) {
      seen += 1;
      if (asked.type === 'open-tunnel' && agent.onTunnel !== null)
        void openTunnel(scope, fleet.admin().url, asked.token).then(agent.onTunnel, () => {});
    }
  }, 5);
  scope.teardown(() => clearInterval(timer));
  return agent;
}

/** Opens a tunnel with a token, in a WebSocket. Rejects when the admin refuses it. */
export function openTunnel(scope: Scope, adminUrl: string, token: string): Promise<HostileTunnel> {
  return openBy(inWebSocket, { scope, adminUrl, token });
}

/** The same of either kind. */
export function openTunnelOf(
  kind: TunnelKind,
  scope: Scope,
  adminUrl: string,
  token: string,
): Promise<HostileTunnel<HostileSocket>> {
  return openBy<HostileSocket>(kind === 'upgrade' ? upgraded : inWebSocket, { scope, adminUrl, token });
}

async function openBy<Socket extends HostileSocket>(
  connect: (wanted: Wanted) => Promise<Socket>,
  { scope, adminUrl, token }: { readonly scope: Scope; readonly adminUrl: string; readonly token: string },
): Promise<HostileTunnel<Socket>> {
  const streams: number[] = [];
  const first = Promise.withResolvers<number>();
  const over = Promise.withResolvers<void>();
  let held = Buffer.alloc(0);
  const state = { isOver: false };
  const heard = (data: Buffer): void => {
    held = Buffer.concat([held, data]);
    if (held.subarray(0, 3).toString() === 'PRI') held = held.subarray(24);
    while (held.length >= 9 && held.length >= 9 + held.readUIntBE(0, 3)) {
      if (held[3] === TYPE.headers) {
        streams.push(held.readUInt32BE(5));
        first.resolve(streams[0] ?? 0);
      }
      held = held.subarray(9 + held.readUIntBE(0, 3));
    }
  };
  const ended = (): void => {
    state.isOver = true;
    over.resolve();
  };
  const socket = await connect({ url: adminUrl + TUNNEL_PATH, token, heard, ended });
  scope.teardown(() => socket.terminate());
  const closed = over.promise;
  return {
    socket,
    streams,
    closed,
    firstStream: first.promise,
    async flood(bytes, ms) {
      const endMs = performance.now() + ms;
      let left = 0;
      while (!state.isOver && performance.now() < endMs) {
        const sent = await Promise.race([
          new Promise<boolean>((resolve) => {
            socket.send(bytes, (error) => resolve(error === undefined || error === null));
          }),
          closed.then(() => false),
        ]);
        if (!sent) break;
        left += bytes.length;
      }
      return left;
    },
  };
}

interface Wanted {
  readonly url: string;
  readonly token: string;
  readonly heard: (bytes: Buffer) => void;
  readonly ended: () => void;
}

async function inWebSocket({ url, token, heard, ended }: Wanted): Promise<WebSocket> {
  const socket = new WebSocket(url.replace('http', 'ws'), TUNNEL_SUBPROTOCOL, {
    headers: { authorization: `Bearer ${token}` },
    maxPayload: constants.MAX_LENGTH,
  });
  socket.on('error', () => {}); // `close` follows
  socket.on('message', heard).once('close', ended);
  await Promise.race([
    once(socket, 'open'),
    once(socket, 'unexpected-response').then(() => Promise.reject(new Error('refused'))),
  ]);
  return socket;
}

async function upgraded({ url, token, heard, ended }: Wanted): Promise<HostileSocket> {
  const asked = request(url, {
    agent: false,
    headers: { authorization: `Bearer ${token}`, connection: 'Upgrade', upgrade: TUNNEL_UPGRADE },
  });
  asked.end();
  const [, socket, head] = (await Promise.race([
    once(asked, 'upgrade'),
    once(asked, 'response').then(() => Promise.reject(new Error('refused'))),
  ])) as [unknown, Duplex, Buffer];
  socket.on('error', () => {}); // `close` follows
  socket.on('data', heard).once('close', ended);
  if (head.length > 0) heard(head);
  return {
    send: (bytes, sent) => void socket.write(bytes, sent),
    close: () => void socket.end(),
    terminate: () => void socket.destroy(),
  };
}
