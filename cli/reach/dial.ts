/**
 * Streams to nodes by the admin's HTTP proxy. Written on plain sockets: loading Node's HTTP client takes longer than
 * all the rest of a start.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { EXIT, Problem } from '../problem.ts';
import type { Proxy } from './proxy.ts';
import { targetText, type Way } from './stream-targets.ts';

/** The proxy must have taken the connection within this time, in ms. */
const CONNECT_MS_MAX = 10_000;

/** It must have answered within this time, in ms: longer than its own limits, so that its own words come through. */
const ANSWER_MS_MAX = 40_000;

/**
 * Silence after which a path is asked whether it is still there, in ms: one whose other end went without a word would
 * be kept for good. The system asks ten times, a second apart, and cuts it then (libuv).
 */
export const KEEP_ALIVE_MS = 15_000;

/** Longest head of an answer, and longest text of a refusal that is read, in bytes. Ours have a few hundred. */
const HEAD_BYTES_MAX = 16_384;
const REFUSAL_BYTES_MAX = 4_096;

/** Longest text of a refusal that is told, in characters. */
const REFUSAL_CHARS_MAX = 500;

/** What is taken out of a refusal, as anybody may have answered. */
// eslint-disable-next-line no-control-regex -- these are what is looked for
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\s]+/gu;

/** What the proxy answered: its status line and headers, and what it sent after them. */
interface Answer {
  readonly status: number;
  readonly head: string;
  readonly rest: Buffer;
}

/** Opens a stream. It is paused, and either side may end first. Rejects with a Problem that says what to do. */
export async function dial(proxy: Proxy, way: Way, signal?: AbortSignal, answerMsMax = ANSWER_MS_MAX): Promise<Socket> {
  const socket = await connected(proxy);
  const abort = (): void => {
    socket.destroy(new Problem('given up'));
  };
  signal?.addEventListener('abort', abort, { once: true });
  const timer = limitSilence(socket, proxy, answerMsMax);
  try {
    if (signal?.aborted === true) abort();
    socket.write(request(proxy, way));
    const answer = await answerOf(socket, proxy);
    if (answer.status < 200 || answer.status > 299) throw refusal(answer, await refusalText(socket, answer), proxy);
    if (answer.rest.length > 0) socket.unshift(answer.rest);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** Rejects with a Problem when the proxy cannot be reached or does not take the key. Reaches no node. */
export async function checkProxy(proxy: Proxy, nodeHost: string, answerMsMax = ANSWER_MS_MAX): Promise<void> {
  // Nothing listens on port 0: the proxy says so, once it has looked at the key.
  const socket = await connected(proxy);
  const timer = limitSilence(socket, proxy, answerMsMax);
  try {
    socket.write(request(proxy, { username: nodeHost, host: nodeHost, port: 0 }));
    const answer = await answerOf(socket, proxy);
    if (answer.status === 407 || answer.status === 429) throw refusal(answer, await refusalText(socket, answer), proxy);
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

function limitSilence(socket: Socket, { url }: Proxy, msMax: number): NodeJS.Timeout {
  return setTimeout(() => socket.destroy(new Problem(`the proxy ${url} does not answer: try again shortly`)), msMax);
}

async function connected(proxy: Proxy): Promise<Socket> {
  const { host, port } = proxy;
  const kept = { keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
  const options = { host, port, allowHalfOpen: true, noDelay: true, ...kept };
  const socket = proxy.isTls
    ? (await import('node:tls')).connect({
        ...options,
        ALPNProtocols: ['http/1.1'],
        ...(isIP(host) === 0 && { servername: host }),
      })
    : connectTcp(options);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => failed({ code: 'ETIMEDOUT', message: '' }), CONNECT_MS_MAX);
    const failed = ({ code, message }: { readonly code?: string; readonly message: string }): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(
        new Problem(
          `cannot reach the proxy ${proxy.url} (${code ?? message}): check that it listens there, or set EDGE_PROXY_URL`,
        ),
      );
    };
    socket.once('error', failed).once(proxy.isTls ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      socket.off('error', failed).on('error', () => {}); // told by whoever reads it
      resolve(socket);
    });
  });
}

function request({ key }: Proxy, { username, ...target }: Way): string {
  const authority = targetText(target);
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nProxy-Authorization: Basic ${Buffer.from(`${username}:${key ?? ''}`).toString('base64')}\r\n\r\n`;
}

async function answerOf(socket: Socket, { url }: Proxy): Promise<Answer> {
  let read = Buffer.alloc(0);
  for (;;) {
    const end = read.indexOf('\r\n\r\n');
    const head = read.toString('latin1', 0, end === -1 ? read.length : end);
    const status = /^HTTP\/1\.\d (?<status>\d{3})/u.exec(head)?.groups?.['status'];
    if (end !== -1 && status !== undefined) return { status: Number(status), head, rest: read.subarray(end + 4) };
    if (end !== -1 || read.length > HEAD_BYTES_MAX || (read.length >= 5 && !head.startsWith('HTTP/')))
      throw new Problem(`what answers at ${url} is no HTTP proxy: check EDGE_PROXY_URL`);
    const chunk = await nextChunk(socket);
    if (chunk === null)
      throw new Problem(
        `the proxy ${url} closed the connection without an answer: check EDGE_PROXY_URL, and whether it takes TLS`,
      );
    read = Buffer.concat([read, chunk]);
  }
}

async function refusalText(socket: Socket, { head, rest }: Answer): Promise<string> {
  const length = Math.min(
    Number(/^content-length: *(?<length>\d+)/imu.exec(head)?.groups?.['length'] ?? REFUSAL_BYTES_MAX),
    REFUSAL_BYTES_MAX,
  );
  let body = rest;
  while (body.length < length) {
    const chunk = await nextChunk(socket);
    if (chunk === null) break;
    body = Buffer.concat([body, chunk]);
  }
  return body.toString().replaceAll(UNPRINTABLE, ' ').trim().slice(0, REFUSAL_CHARS_MAX);
}

function refusal({ status, head }: Answer, text: string, { url, key }: Proxy): Problem {
  switch (status) {
    case 407:
      return new Problem(
        key === null
          ? `the proxy ${url} wants a key: set EDGE_PROXY_KEY to PROXY_KEY or MASTER_KEY of the service, or give it to edge login --proxy-key-stdin`
          : `the proxy ${url} does not accept this key: set EDGE_PROXY_KEY to PROXY_KEY or MASTER_KEY of the service, or give it to edge login --proxy-key-stdin`,
        EXIT.auth,
      );
    case 429:
      return new Problem(text === '' ? 'too many wrong keys came from this address: try again later' : text, EXIT.auth);
    default:
      return refusalOf(
        /^proxy-status:.*error=(?<error>\w+)/imu.exec(head)?.groups?.['error'],
        text === '' ? `the proxy ${url} refused with ${status}` : text,
      );
  }
}

/** By the type of the error. Source: RFC 9209, 2.3. */
function refusalOf(error: string | undefined, text: string): Problem {
  if (error === 'connection_refused') return new PortRefused(text);
  return new Problem(text, error === 'destination_not_found' ? EXIT.notFound : EXIT.failed);
}

/** The machine was reached, and nothing listens there. */
export class PortRefused extends Problem {}

/** The next bytes; null at the end. The socket is paused again when it resolves. */
function nextChunk(socket: Socket): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const done = (settle: () => void): void => {
      socket.off('readable', onReadable).off('end', onEnd).off('close', onClose);
      settle();
    };
    const onReadable = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (chunk !== null) done(() => resolve(chunk));
    };
    const onEnd = (): void => done(() => resolve(null));
    const onClose = (): void =>
      done(() => (socket.errored instanceof Problem ? reject(socket.errored) : resolve(null)));
    socket.on('readable', onReadable).on('end', onEnd).on('close', onClose);
    onReadable();
    if (socket.destroyed) onClose();
    else if (socket.readableEnded) onEnd();
  });
}
