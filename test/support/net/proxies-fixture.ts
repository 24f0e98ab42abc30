/** Both proxies with a plain dialler behind them, targets to dial, and raw clients that send what no client would. */
import { connect, type Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import type { ProxyLimits } from '../../../transport/proxies/limits.ts';
import type { Admission, Credentials, DialRequest } from '../../../transport/proxies/ports.ts';
import { startProxies, type Proxies } from '../../../transport/proxies/proxies.ts';
import { notDialled, type Dialled, type DialFailure } from '../../../transport/net/streams/dialled.ts';
import { recordingLog } from '../log.ts';
import type { Scope } from '../scope.ts';

/** What is let in. */
export const PASSWORD = 'pass:wörd with spaces';

/** Running proxies of a test, and what they asked for. */
export interface ProxiesFixture {
  readonly proxies: Proxies;
  readonly httpPort: number;
  readonly socksPort: number;
  readonly log: ReturnType<typeof recordingLog>;
  /** What was asked to be dialled, in order. */
  readonly dialled: DialRequest[];
  /** The credentials that were shown. */
  readonly shown: (Credentials | null)[];
  /** Dials that were given up. */
  readonly aborted: DialRequest[];
}

/** What a test may change. */
export interface FixtureOptions {
  readonly limits?: Partial<ProxyLimits>;
  /** Nobody needs a password. */
  readonly isOpen?: boolean;
  readonly admit?: (credentials: Credentials | null) => Admission;
  /** In the place of dialling. */
  readonly dial?: (request: DialRequest, signal: AbortSignal) => Promise<Dialled>;
  /** Names that lead to 127.0.0.1. Others are dialled as they are. */
  readonly names?: readonly string[];
}

/** Starts both on free ports. Ends with the scope. */
export async function openProxies(
  scope: Scope,
  { limits, isOpen = false, admit, dial = dialTcp, names = ['web-1.edge'] }: FixtureOptions = {},
): Promise<ProxiesFixture> {
  const log = recordingLog();
  const dialled: DialRequest[] = [];
  const shown: (Credentials | null)[] = [];
  const aborted: DialRequest[] = [];
  const proxies = await startProxies({
    log,
    ...(limits && { limits }),
    ports: {
      admit(credentials) {
        shown.push(credentials);
        if (admit) return admit(credentials);
        return isOpen || credentials?.password === PASSWORD
          ? { ok: true, username: credentials?.username ?? '_' }
          : { ok: false, reason: 'credentials' };
      },
      dial(request, signal) {
        dialled.push(request);
        signal.addEventListener('abort', () => aborted.push(request));
        return dial({ ...request, host: names.includes(request.host) ? '127.0.0.1' : request.host }, signal);
      },
    },
    http: { hosts: ['127.0.0.1'], port: 0, setting: 'HTTP_PROXY_PORT' },
    socks5: { hosts: ['127.0.0.1'], port: 0, setting: 'SOCKS5_PROXY_PORT' },
  });
  scope.teardown(() => proxies.close(0));
  const {
    http: { port: httpPort },
    socks5: { port: socksPort },
  } = proxies;
  if (httpPort === null || socksPort === null)
    throw new Error(proxies.http.problem() ?? proxies.socks5.problem() ?? 'a proxy does not listen');
  return { proxies, httpPort, socksPort, log, dialled, shown, aborted };
}

const FAILURES: Readonly<Record<string, DialFailure>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ENOTFOUND: 'unresolved',
  ETIMEDOUT: 'timed_out',
};

/** A dialler without any policy. */
export function dialTcp({ host, port }: DialRequest, signal: AbortSignal): Promise<Dialled> {
  return new Promise((resolve) => {
    const stream = connect({ host, port, allowHalfOpen: true, noDelay: true });
    const failed = (error: NodeJS.ErrnoException): void =>
      resolve(notDialled(FAILURES[error.code ?? ''] ?? 'failed', `It failed: ${error.code}.`));
    stream.once('error', failed);
    stream.once('connect', () => {
      stream.off('error', failed);
      resolve({ ok: true, stream });
    });
    signal.addEventListener('abort', () => stream.destroy(Object.assign(new Error('given up'), { code: 'ETIMEDOUT' })));
  });
}

/** Answers with what it was sent, when the client has said all. */
export function echoes(socket: Socket): void {
  void buffer(socket).then(
    (bytes) => socket.end(bytes),
    () => null,
  );
}

/** A bare connection to a proxy. Its errors are nobody's. */
export function rawClient(scope: Scope, port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  socket.on('error', () => {});
  scope.teardown(() => void socket.destroy());
  return socket;
}

/** Everything that a proxy answers to these bytes, until it closes. Rejects when it resets instead. */
export async function answerTo(scope: Scope, port: number, bytes: string | Buffer): Promise<string> {
  const client = rawClient(scope, port);
  client.write(bytes);
  return text(client);
}

/** A header for those who know the password. */
export function basic(username: string, password = PASSWORD): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** The status of an answer. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /u.exec(answer)?.[1] ?? NaN);
}
