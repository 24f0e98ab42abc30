/** Logs in to a machine through the admin's proxy, in this process: many at a time need no program each. */
import type { Socket } from 'node:net';
import ssh2, { type Client, type ClientErrorExtensions } from 'ssh2';
import { SSH_ALGORITHMS } from '../../transport/net/ssh/algorithms.ts';
import { KEY_EXCHANGE_MS_MAX } from '../../transport/net/ssh/limits.ts';
import { guardPeer } from '../../transport/net/ssh/peer-guard.ts';
import type { Environment } from '../service/contexts.ts';
import { Problem } from '../problem.ts';
import { dial } from '../reach/dial.ts';
import { isTrustedOnFirstUse } from '../reach/trust-on-first-use.ts';
import { hostKeyFingerprint, keepHostKey } from '../reach/host-keys.ts';
import type { NodePlace } from '../reach/places.ts';
import type { Proxy } from '../reach/proxy.ts';
import { wayTo } from '../reach/stream-targets.ts';
import type { Login } from './login.ts';
import { Machine } from './machine.ts';
import { failed, unfinished } from './problems.ts';

/** From the connection to the login, in ms: an agent gives 30 s, and asks its admin meanwhile. */
const LOGIN_MS_MAX = 30_000;

/** Silence after which a machine is asked whether it is there, in ms, and questions that may stay unanswered. */
const ASKED_AFTER_MS = 10_000;
const UNANSWERED_MAX = 3;

/** What every login needs. */
export interface LogInOptions {
  readonly proxy: Proxy;
  readonly login: Login;
  readonly env: Environment;
  /** Cuts the connection. */
  readonly signal: AbortSignal;
  /** Told that the service tells another host key than before. */
  readonly say: (line: string) => void;
}

/** Logs in. Rejects with a Problem that does not name the machine. */
export async function logIn(place: NodePlace, options: LogInOptions): Promise<Machine> {
  if (place.status === 'unreachable') throw unfinished('it is not connected now');
  if (place.sshProblem !== null) throw failed(`its SSH server does not work: ${place.sshProblem}`);
  const { proxy, signal } = options;
  const socket = await dialled(place, proxy, signal);
  const cut = (): void => void socket.destroy();
  signal.addEventListener('abort', cut, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', cut));
  if (signal.aborted) cut();
  try {
    return await Machine.of(await loggedIn(socket, place, options), socket);
  } catch (error) {
    cut();
    throw error instanceof Problem ? error : unfinished('the connection was cut');
  }
}

async function dialled({ host, sshPort }: NodePlace, proxy: Proxy, signal: AbortSignal): Promise<Socket> {
  try {
    return await dial(proxy, wayTo(host, { host: 'localhost', port: sshPort }), signal);
  } catch (error) {
    throw error instanceof Problem ? unfinished(error.message) : error;
  }
}

function loggedIn(socket: Socket, place: NodePlace, { login, env, say }: LogInOptions): Promise<Client> {
  const client = new ssh2.Client();
  keepHostKey(place, env, say);
  let keyProblem: Problem | null = null;
  return new Promise((resolve, reject) => {
    client
      .on('error', (error: Error & ClientErrorExtensions) => {
        if (error.level === 'agent') return; // the ssh-agent; there may be keys in files
        reject(
          keyProblem ??
            (error.level === 'client-authentication' ? notLetIn(login, place) : unfinished('the connection was cut')),
        );
      })
      .once('ready', () => resolve(client))
      .once('close', () => reject(keyProblem ?? unfinished('the connection was cut')));
    client.connect({
      sock: socket,
      username: login.username,
      algorithms: SSH_ALGORITHMS,
      authHandler: login.methods,
      readyTimeout: LOGIN_MS_MAX,
      keepaliveInterval: ASKED_AFTER_MS,
      keepaliveCountMax: UNANSWERED_MAX,
      hostVerifier: (key: Buffer) => {
        keyProblem = hostKeyProblem(`ssh-ed25519 ${key.toString('base64')}`, place, env);
        return keyProblem === null;
      },
    });
    guardPeer(client, {
      peer: 'server',
      bytes: () => socket.bytesRead + socket.bytesWritten,
      keyExchangeMsMax: KEY_EXCHANGE_MS_MAX,
      violated: () => void socket.destroy(),
    });
  });
}

function notLetIn({ username }: Login, { name }: NodePlace): Problem {
  return failed(
    `${username} may not log in there with these keys: edge sshuser add ${name} ${username} -k @~/.ssh/id_ed25519.pub`,
  );
}

/** Null: it is the key of this machine. */
function hostKeyProblem(key: string, { ownHost, hostKey }: NodePlace, env: Environment): Problem | null {
  const shown = hostKeyFingerprint(key);
  if (hostKey !== null)
    return key === hostKey
      ? null
      : failed(
          `what answers has another host key (${shown}) than the service tells (${hostKeyFingerprint(hostKey)}): nothing was sent`,
        );
  try {
    return isTrustedOnFirstUse(ownHost, key, env)
      ? null
      : failed(`what answers has another host key (${shown}) than was seen first: nothing was sent`);
  } catch (error) {
    return failed(
      `its host key cannot be compared with what was seen first (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}): nothing was sent`,
    );
  }
}
