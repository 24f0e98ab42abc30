/** Where an agent's WebSocket comes in: token, owner, then a session. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import type { Log } from '../net/log.ts';
import type { WindowLimiter } from '../net/window-limiter.ts';
import { CLOSE } from '../protocol/close-codes.ts';
import type { ClusterId, NodeId } from '../protocol/ids.ts';
import { FRAME_BYTES_MAX } from '../protocol/limits.ts';
import { NODE_DELETED, REFUSAL_HEADER, SESSION_SUBPROTOCOL } from '../protocol/version.ts';
import { CLOSE_GRACE_MS, WS_FRAGMENTS_MAX } from './limits.ts';
import type { Sessions } from './sessions.ts';
import { createTokenMemory } from './tokens.ts';

/** Whom the gate asks before it opens. */
export interface GatePorts {
  readonly sessions: Sessions;
  readonly log: Log;
  readonly monotonicMs: () => number;
  /** Counts wrong tokens by address. */
  readonly wrongTokens: WindowLimiter;
  /** By SHA-256 of the token; null when it is nobody's. Rejects when the database is away. */
  nodeByToken(tokenHash: Uint8Array): Promise<{ readonly node: NodeId; readonly cluster: ClusterId } | null>;
  /** Whether that token was one of a node which somebody deleted. */
  deletedByToken(tokenHash: Uint8Array): Promise<boolean>;
  /** Whether this admin owns the cluster. */
  owns(cluster: ClusterId): boolean;
  /** Where the owner is; null when nobody owns it now. */
  ownerUrl(cluster: ClusterId): Promise<string | null>;
}

/** What fits a close frame beside its code, in bytes. Source: RFC 6455, 5.5. */
const URL_BYTES_MAX = 123;

/** Codes that `ws` closes with by itself. Source: `kStatusCode` in ws/lib/receiver.js. */
const REFUSED_BY_WS: Readonly<Record<number, string>> = {
  1002: 'a broken WebSocket frame',
  1007: 'text that is not UTF-8',
  1008: 'too many fragments',
  1009: `a frame over ${FRAME_BYTES_MAX} bytes`,
};

/**
 * What `ws` itself refuses (too large, not UTF-8, a broken frame) and closes with a code of RFC 6455, closed as the
 * contract says instead.
 */
class AgentSocket extends WebSocket {
  override close(code?: number, reason?: string | Buffer): void {
    const problem = code === undefined ? undefined : REFUSED_BY_WS[code];
    if (problem === undefined || reason !== undefined) super.close(code, reason);
    else super.close(CLOSE.policy, problem);
  }
}

/**
 * Handles upgrades of the session path. Never throws: what is refused gets a status, what belongs elsewhere a close
 * code.
 */
export function createSessionGate(ports: GatePorts): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: FRAME_BYTES_MAX,
    perMessageDeflate: false,
    clientTracking: false,
    WebSocket: AgentSocket,
    ...({ maxFragments: WS_FRAGMENTS_MAX } as object),
    handleProtocols: (offered) => (offered.has(SESSION_SUBPROTOCOL) ? SESSION_SUBPROTOCOL : false),
  });

  const tokens = createTokenMemory(ports.wrongTokens, ports.monotonicMs);

  async function admit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const token = bearerOf(request);
    if (token === null) return refuse(socket, '401 Unauthorized', 'www-authenticate: Bearer\r\n');
    if (!offersProtocol(request)) return refuse(socket, '400 Bad Request');
    const hash = createHash('sha256').update(token).digest();
    const [key, address] = [hash.toString('base64'), request.socket.remoteAddress ?? 'unknown'];
    const waitMs = tokens.waitMs(key, address);
    if (waitMs > 0) return refuse(socket, '429 Too Many Requests', `retry-after: ${Math.ceil(waitMs / 1_000)}\r\n`);
    const known = await ports.nodeByToken(hash);
    if (known === null) {
      tokens.wrong(key, address);
      return refuse(
        socket,
        '401 Unauthorized',
        `www-authenticate: Bearer\r\n${(await ports.deletedByToken(hash)) ? `${REFUSAL_HEADER}: ${NODE_DELETED}\r\n` : ''}`,
      );
    }
    tokens.right(key);
    const elsewhere = ports.owns(known.cluster) ? null : ((await ports.ownerUrl(known.cluster)) ?? '');
    server.handleUpgrade(request, socket, head, (ws) => {
      if (elsewhere === null) {
        const waitMs = ports.sessions.accept(ws, known.node, known.cluster);
        if (waitMs > 0) tokens.eager(key, waitMs);
        return;
      }
      ws.on('error', () => ws.terminate());
      // A URL that is cut leads nowhere; without one the agent tries the next that it knows.
      ws.close(CLOSE.elsewhere, Buffer.byteLength(elsewhere) <= URL_BYTES_MAX ? elsewhere : '');
      setTimeout(() => ws.terminate(), CLOSE_GRACE_MS).unref();
    });
  }

  return (request, socket, head) => {
    admit(request, socket, head).catch((error: unknown) => {
      ports.log.warn({ error }, 'a session could not be admitted');
      refuse(socket, '503 Service Unavailable', 'retry-after: 1\r\n');
    });
  };
}

function bearerOf(request: IncomingMessage): string | null {
  const match = /^Bearer ([\w~+/.=-]{1,512})$/i.exec(request.headers.authorization ?? '');
  return match?.[1] ?? null;
}

function offersProtocol(request: IncomingMessage): boolean {
  return (request.headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .some((offered) => offered.trim() === SESSION_SUBPROTOCOL);
}

function refuse(socket: Duplex, status: string, headers = ''): void {
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\n${headers}connection: close\r\ncontent-length: 0\r\n\r\n`);
}
