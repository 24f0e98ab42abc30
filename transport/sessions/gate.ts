/** Where an agent's WebSocket comes in: token, owner, then a session. */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { cameByTls, clientAddressOf } from '../net/client-address.ts';
import type { Log } from '../net/log.ts';
import type { WindowLimiter } from '../net/window-limiter.ts';
import { CLOSE } from '../protocol/close-codes.ts';
import type { ClusterId, NodeId } from '../protocol/ids.ts';
import { FRAME_BYTES_MAX } from '../protocol/limits.ts';
import { NODE_DELETED, REFUSAL_HEADER, SESSION_SUBPROTOCOL, STRANDED_HEADER } from '../protocol/version.ts';
import { CLOSE_GRACE_MS, WS_FRAGMENTS_MAX } from './limits.ts';
import { urlReason } from './connection.ts';
import type { Sessions } from './sessions.ts';
import { createTokenMemory } from './tokens.ts';

/** What one admin tells another of a session that it passes on. */
export interface PassedSession {
  readonly token: string;
  /** At which the agent came in. */
  readonly address: string;
}

/**
 * A session that another admin, by its name, passed on; or the status that this gets. `open`: where its bytes are
 * sealed, what the agent's are, of the connection and what came behind the upgrade.
 */
export type ReceivedSession =
  | (PassedSession & { readonly by: string; readonly open: ((socket: Duplex, head: Buffer) => Duplex) | null })
  | { readonly refused: string };

/** By which sessions get to the owner of their cluster where their agents do not. */
export interface SessionRelay {
  /** What another admin passed on with this upgrade; null: it comes from an agent. */
  received(request: IncomingMessage): ReceivedSession | null;
  /** Takes over the upgrade and brings it to the admin with this id. False: it can't, and nothing was done. */
  passOn(
    admin: string,
    session: PassedSession,
    upgrade: { readonly request: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
  ): boolean;
}

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
  /** Who the owner is, and where agents find it; null when nobody owns it now. */
  ownerOf(cluster: ClusterId): Promise<{ readonly adminId: string; readonly url: string } | null>;
  readonly relay: SessionRelay;
}

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
    const received = ports.relay.received(request);
    if (received !== null && 'refused' in received) return refuse(socket, received.refused);
    const token = received?.token ?? bearerOf(request);
    if (token === null) return refuse(socket, '401 Unauthorized', 'www-authenticate: Bearer\r\n');
    if (!offersProtocol(request)) return refuse(socket, '400 Bad Request');
    const tokenHash = hash('sha256', token, 'buffer');
    const key = tokenHash.toString('base64');
    const address = received?.address ?? clientAddressOf(request);
    const waitMs = tokens.waitMs(key, address);
    if (waitMs > 0) return refuse(socket, '429 Too Many Requests', `retry-after: ${Math.ceil(waitMs / 1_000)}\r\n`);
    const known = await ports.nodeByToken(tokenHash);
    if (known === null) {
      tokens.wrong(key, address);
      return refuse(
        socket,
        '401 Unauthorized',
        `www-authenticate: Bearer\r\n${(await ports.deletedByToken(tokenHash)) ? `${REFUSAL_HEADER}: ${NODE_DELETED}\r\n` : ''}`,
      );
    }
    tokens.right(key);
    const open = (opened: (ws: WebSocket) => void): void => {
      const bytes = received?.open?.(socket, head);
      server.handleUpgrade(request, bytes ?? socket, bytes === undefined ? head : NOTHING, opened);
    };
    if (!ports.owns(known.cluster)) {
      const owner = await ports.ownerOf(known.cluster);
      if (owner !== null && received === null && isSameUrl(request.headers[STRANDED_HEADER], owner.url))
        if (ports.relay.passOn(owner.adminId, { token, address }, { request, socket, head })) return;
      return open((ws) => sendElsewhere(ws, owner?.url ?? ''));
    }
    open((ws) => {
      // What another admin passes on may have come to it in any way.
      const via = { address, by: received?.by ?? null, isSecure: received === null && cameByTls(request) };
      const waitMs = ports.sessions.accept(ws, known.node, known.cluster, via);
      if (waitMs > 0) tokens.eager(key, waitMs);
    });
  }

  return (request, socket, head) => {
    admit(request, socket, head).catch((error: unknown) => {
      ports.log.warn({ error }, 'a session could not be admitted');
      refuse(socket, '503 Service Unavailable', 'retry-after: 1\r\n');
    });
  };
}

const NOTHING = Buffer.alloc(0);

/** A URL that is cut leads nowhere; without one the agent tries the next that it knows. */
function sendElsewhere(ws: WebSocket, url: string): void {
  ws.on('error', () => ws.terminate());
  ws.close(CLOSE.elsewhere, urlReason(url));
  setTimeout(() => ws.terminate(), CLOSE_GRACE_MS).unref();
}

/** Whether an agent names this URL. Another owner than the one that it did not reach may be reached. */
function isSameUrl(named: string | readonly string[] | undefined, url: string): boolean {
  return (
    typeof named === 'string' && URL.canParse(named) && URL.canParse(url) && new URL(named).href === new URL(url).href
  );
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
