/**
 * An enrolled agent that opens the tunnels it is asked for and then says what no agent would: frames of HTTP/2 by hand.
 */
import { constants } from 'node:buffer';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { PROTOCOL_VERSION, TUNNEL_PATH, TUNNEL_SUBPROTOCOL } from '../../transport/protocol/version.ts';
import type { Fleet } from './fleet.ts';
import { enrollRaw, type RawAgent, type RawSession } from './fleet/raw-agent.ts';
import type { Scope } from './scope.ts';

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

/** A tunnel that the admin took. */
export interface HostileTunnel {
  readonly socket: WebSocket;
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

/** Opens a tunnel with a token. Rejects when the admin refuses it. */
export async function openTunnel(scope: Scope, adminUrl: string, token: string): Promise<HostileTunnel> {
  const socket = new WebSocket(adminUrl.replace('http', 'ws') + TUNNEL_PATH, TUNNEL_SUBPROTOCOL, {
    headers: { authorization: `Bearer ${token}` },
    maxPayload: constants.MAX_LENGTH,
  });
  scope.teardown(() => socket.terminate());
  const streams: number[] = [];
  const first = Promise.withResolvers<number>();
  let held = Buffer.alloc(0);
  socket.on('error', () => {}); // `close` follows
  socket.on('message', (data: Buffer) => {
    held = Buffer.concat([held, data]);
    if (held.subarray(0, 3).toString() === 'PRI') held = held.subarray(24);
    while (held.length >= 9 && held.length >= 9 + held.readUIntBE(0, 3)) {
      if (held[3] === TYPE.headers) {
        streams.push(held.readUInt32BE(5));
        first.resolve(streams[0] ?? 0);
      }
      held = held.subarray(9 + held.readUIntBE(0, 3));
    }
  });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  await Promise.race([
    once(socket, 'open'),
    once(socket, 'unexpected-response').then(() => Promise.reject(new Error('refused'))),
  ]);
  return {
    socket,
    streams,
    closed,
    firstStream: first.promise,
    async flood(bytes, ms) {
      const endMs = performance.now() + ms;
      let left = 0;
      while (socket.readyState === WebSocket.OPEN && performance.now() < endMs) {
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
