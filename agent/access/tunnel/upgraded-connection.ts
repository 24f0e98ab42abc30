/** A connection to an admin that becomes a tunnel: HTTP/2 on itself, without a WebSocket. */
import type { Agent, ClientRequest } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { handshakeLate } from '../../../transport/net/streams/handshake-limit.ts';
import { TUNNEL_UPGRADE } from '../../../transport/protocol/version.ts';

/** What came of asking for one. */
export type Upgraded =
  | { readonly type: 'open'; readonly socket: Duplex }
  /** Something there speaks HTTP, and did not do it. */
  | { readonly type: 'refused'; readonly status: number }
  | { readonly type: 'failed'; readonly error: Error };

/** How it is asked for. */
export interface UpgradeAsked {
  /** http or https. */
  readonly url: string;
  readonly token: string;
  readonly msMax: number;
  /** False: a connection of its own. */
  readonly agent: Agent | false;
  /** Certificate authorities, a source address and the like. */
  readonly options: RequestOptions;
}

/** All headers of the answer, in bytes. */
const HEADER_BYTES_MAX = 8_192;

/**
 * Asks once; `settled` is called once unless it is given up by the function that is returned. Throws where no request
 * can be made of the URL or the token.
 */
export function askForUpgrade(asked: UpgradeAsked, settled: (came: Upgraded) => void): () => void {
  // Not by `import`: see agent/outbound/http-exchange.ts.
  const { request } = process.getBuiltinModule(asked.url.startsWith('https:') ? 'node:https' : 'node:http');
  const sent = request(asked.url, {
    ...asked.options,
    agent: asked.agent,
    maxHeaderSize: HEADER_BYTES_MAX,
    headers: { authorization: `Bearer ${asked.token}`, connection: 'Upgrade', upgrade: TUNNEL_UPGRADE },
  });
  return settle(sent, asked.msMax, settled);
}

function settle(sent: ClientRequest, msMax: number, settled: (came: Upgraded) => void): () => void {
  let isSettled = false;
  const late = setTimeout(() => done({ type: 'failed', error: handshakeLate() }), msMax);
  function done(came: Upgraded): void {
    if (isSettled) return;
    isSettled = true;
    clearTimeout(late);
    if (came.type !== 'open') sent.destroy();
    settled(came);
  }
  sent.on('error', (error) => done({ type: 'failed', error }));
  sent.on('close', () => done({ type: 'failed', error: new Error('the admin closed the connection') }));
  sent.on('response', ({ statusCode = 0 }) => done({ type: 'refused', status: statusCode }));
  sent.on('upgrade', (response, socket, head) => {
    if (isSettled || response.headers.upgrade?.toLowerCase() !== TUNNEL_UPGRADE) {
      socket.destroy();
      return done({ type: 'refused', status: response.statusCode ?? 0 });
    }
    if (head.length > 0) socket.unshift(head);
    return done({ type: 'open', socket });
  });
  sent.end();
  return () => {
    isSettled = true;
    clearTimeout(late);
    sent.destroy();
  };
}
