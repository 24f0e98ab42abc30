/**
 * A connection through an HTTP proxy by CONNECT (RFC 9110, 9.3.6), bounded in bytes and time. By hand, since what there
 * is reads a head without end and keeps the socket of a proxy that is silent for ever:
 * docs/decisions/outbound-proxy.md.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { networkProblem } from '../problem.ts';
import type { OutboundProxy } from './proxy-choice.ts';

/**
 * The proxy must have opened the way within this time, in ms: less than an exchange or a tunnel has as a whole, so that
 * its own words are told. The limits of a session's dial, and of the upgrade to a WebSocket, begin after it.
 */
export const PROXY_MS_MAX = 8_000;

/** Longest head of its answer, in bytes. Real ones have a few hundred. */
export const PROXY_HEAD_BYTES_MAX = 16_384;

/** Why there is no way through a proxy: one sentence, which names it without its credentials. */
export class ProxyProblem extends Error {}

/**
 * Bytes to and from `host:port`, once the proxy has connected. Rejects with a ProxyProblem; nothing is left open then.
 */
export async function throughProxy(
  proxy: OutboundProxy,
  { host, port }: { readonly host: string; readonly port: number },
  { msMax = PROXY_MS_MAX }: { readonly msMax?: number } = {},
): Promise<Socket> {
  const socket = proxy.isTls
    ? connectTls({
        host: proxy.host,
        port: proxy.port,
        ALPNProtocols: ['http/1.1'],
        ...(isIP(proxy.host) === 0 && { servername: proxy.host }),
      })
    : connectTcp({ host: proxy.host, port: proxy.port, noDelay: true });
  const timer = setTimeout(() => socket.destroy(problem(proxy, `did not answer within ${msMax / 1_000} s`)), msMax);
  try {
    return await opened(socket, proxy, authorityOf(host, port));
  } catch (error) {
    socket.destroy();
    throw error instanceof ProxyProblem ? error : problem(proxy, `cannot be reached: ${networkProblem(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Asks, and takes the head of the answer off the socket. By reading on demand: a socket that was paused would stay so
 * for the request that gets it.
 */
function opened(socket: Socket, proxy: OutboundProxy, authority: string): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  let head = Buffer.alloc(0);
  const settle = (act: () => void): void => {
    socket.off('readable', read).off('error', reject).off('close', closed);
    act();
  };
  const read = (): void => {
    const piece = socket.read() as Buffer | null;
    if (piece === null) return;
    head = Buffer.concat([head, piece]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1 && head.length <= PROXY_HEAD_BYTES_MAX) return;
    const refused = end === -1 ? 'does not speak HTTP' : refusalOf(head.toString('latin1', 0, end));
    if (refused !== null) return settle(() => reject(problem(proxy, refused)));
    if (end + 4 < head.length) socket.unshift(head.subarray(end + 4));
    settle(() => resolve(socket));
  };
  const closed = (): void => reject(problem(proxy, 'closed the connection without an answer'));
  socket.on('readable', read).on('error', reject).on('close', closed);
  socket.once(proxy.isTls ? 'secureConnect' : 'connect', () => {
    const shown = proxy.authorization === null ? '' : `Proxy-Authorization: ${proxy.authorization}\r\n`;
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${shown}\r\n`);
  });
  return promise;
}

/** Null: the way is open. */
function refusalOf(head: string): string | null {
  const status = Number(/^HTTP\/1\.\d (\d{3})/u.exec(head)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) return 'does not speak HTTP';
  if (status === 407) return 'wants other credentials (407): write them as http://USER:PASSWORD@HOST:PORT';
  return status >= 200 && status <= 299 ? null : `refused to connect to the admin (${status})`;
}

function problem({ origin }: OutboundProxy, what: string): ProxyProblem {
  return new ProxyProblem(`the proxy ${origin} ${what}`);
}

function authorityOf(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
