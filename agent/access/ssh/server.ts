/** The SSH server of the agent: listens, lets in whom the admin lets in, and knows who is there. */
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import ssh2 from 'ssh2';
import type { Connection } from 'ssh2';
import { SSH_GRANTS_MAX } from '../../../transport/protocol/limits.ts';
import type { SshGrant } from '../../../transport/protocol/ssh.ts';
import { listenAt } from '../../../transport/net/streams/listen.ts';
import type { Egress } from '../egress/egress.ts';
import type { Log } from '../../../transport/net/log.ts';
import { accountsOfMachine } from './accounts.ts';
import type { Account, AccountOf } from './accounts.ts';
import { Admission } from './admission.ts';
import { ALGORITHMS } from './algorithms.ts';
import { LiveConnection } from './connection.ts';
import { openHostKey } from './host-key.ts';
import { createLauncher } from './launch.ts';
import type { SftpCommand } from './launch.ts';
import { socketOf } from './library.ts';
import { GOODBYE_MS_MAX, SOCKET_WAITING_BYTES_MAX, SSH_LIMITS } from './limits.ts';
import type { SshLimits } from './limits.ts';
import { answerLogins } from './login.ts';
import type { Recording } from './recorder.ts';
import { PipePool, pipesDirectory } from './pipes.ts';
import type { VerifySsh } from './ports.ts';

/** Of what a revoked user leaves running, KILL follows HUP after this, in ms: within the second that E5 gives. */
const REVOKED_HANG_UP_MS = 500;

/** At the stop of the agent KILL follows HUP after this, in ms. */
const STOP_HANG_UP_MS = 1_000;

/** What the server is made of. */
export interface SshServerOptions {
  /** 0: any that is free. */
  readonly port: number;
  /** Nobody chose the port: where it is taken by now, another one will do. */
  readonly orAnotherPort?: boolean;
  /** Addresses to listen on, at least one. */
  readonly hosts: readonly string[];
  readonly hostKeyPath: string;
  readonly verify: VerifySsh;
  readonly egress: Egress;
  readonly log: Log;
  /** The agent's own environment. */
  readonly environment: NodeJS.ProcessEnv;
  /** The SFTP server, which speaks on its stdin and stdout. */
  readonly sftpCommand: SftpCommand;
  /** Absent: nothing is recorded. */
  readonly recording?: Recording;
  /** Who becomes whom; the accounts of this machine, unless a test has its own. */
  readonly accounts?: AccountOf;
  readonly limits?: Partial<SshLimits>;
}

/** The server. No method throws. */
export interface SshServer {
  /** Listens. Resolves with the port, or null when it got none: then `problem` says why. */
  start(): Promise<number | null>;
  /** Null while all is well, else one sentence. */
  readonly problem: string | null;
  /** As `ssh-keygen -l` writes it; null when there is no host key. */
  readonly hostKeyFingerprint: string | null;
  /** Since the start. */
  readonly counters: { readonly authentications: number; readonly connections: number };
  /** By whom the live connections were opened, each once. */
  grants(): readonly SshGrant[];
  /** These are gone: what they opened ends now, and so does a login of theirs that is under way (E5). */
  end(usernameIds: readonly string[], keyIds: readonly string[]): void;
  /** Ends everything. Resolves when no process of a session is left, within seconds. */
  close(): Promise<void>;
}

/** Somebody whom the admin accepted, and the account that it becomes. */
interface Login {
  readonly client: Connection;
  readonly username: string;
  readonly account: Account;
  readonly grant: SshGrant;
}

/** Makes a server that does not listen yet. The host key is made or read here. */
export function createSshServer(options: SshServerOptions): SshServer {
  const { log } = options;
  const limits: SshLimits = { ...SSH_LIMITS, ...options.limits };
  const hostKey = openHostKey(options.hostKeyPath);
  const admission = new Admission(limits);
  const launcher = createLauncher({ environment: options.environment });
  const pipes = new PipePool(pipesDirectory(options.hostKeyPath));
  const accountOf = options.accounts ?? accountsOfMachine();
  const counters = { authentications: 0, connections: 0 };
  const sockets = new Set<Socket>();
  /** Those that are not logged in yet, each with what is to be done once it is. */
  const strangers = new Map<Socket, () => void>();
  const live = new Set<LiveConnection>();
  const ending = new Set<Promise<void>>();
  const attempts = new Set<Set<string>>();
  const listeners: Server[] = [];
  const problems: string[] = hostKey.ok ? [] : [hostKey.problem];
  let isClosed = false;

  const protocol = hostKey.ok
    ? new ssh2.Server(
        {
          hostKeys: [hostKey.privateKey],
          ident: 'edge-agent',
          algorithms: ALGORITHMS,
          keepaliveInterval: limits.keepAliveMs,
          keepaliveCountMax: limits.keepAlivesMissedMax,
        },
        connected,
      )
    : null;

  /** A socket, before anything is known of it. */
  function knocked(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    socket.on('error', () => {}); // its close follows
    const problem = isClosed ? 'this machine stops' : admission.enter(address);
    if (problem !== null) {
      socket.end(`${problem}\r\n`); // before its version a server may say anything. Source: RFC 4253, 4.2
      socket.resume();
      setTimeout(() => socket.destroy(), GOODBYE_MS_MAX).unref();
      return;
    }
    if (strangers.size >= limits.strangersMax) cutOldestStranger();
    counters.connections += 1;
    sockets.add(socket);
    const late = setTimeout(() => socket.destroy(), limits.loginMsMax);
    const known = () => {
      if (!strangers.delete(socket)) return;
      clearTimeout(late);
      admission.leave(address);
    };
    strangers.set(socket, known);
    socket.once('close', () => {
      known();
      sockets.delete(socket);
    });
    socket.once('finish', () => {
      setTimeout(() => socket.destroy(), GOODBYE_MS_MAX).unref();
    });
    protocol?.injectSocket(socket);
    // What a client makes this server say and does not read is bounded by not reading from it either.
    socket.on('data', () => {
      if (socket.writableLength <= SOCKET_WAITING_BYTES_MAX) return;
      socket.pause();
      socket.once('drain', () => socket.resume());
    });
  }

  /** Makes room: whoever holds connections without logging in must not keep others out. */
  function cutOldestStranger(): void {
    const [oldest] = strangers.keys();
    if (oldest === undefined) return;
    strangers.get(oldest)?.();
    oldest.destroy();
  }

  /** A client that speaks SSH. */
  function connected(client: Connection): void {
    const socket = socketOf(client);
    const address = socket.remoteAddress ?? '';
    client.on('error', (error) => {
      log.debug({ address, problem: error.message }, 'An SSH connection failed');
      if ((error as { level?: string }).level === 'client-timeout') socket.destroy();
    });
    answerLogins({
      client,
      log,
      verify: options.verify,
      accountOf,
      triesMax: limits.triesMax,
      counted: () => {
        counters.authentications += 1;
      },
      failed: () => admission.fail(address),
      watchEnds: (ended) => {
        attempts.add(ended);
        return () => attempts.delete(ended);
      },
      accepted: (username, account, grant, ended) => taken({ client, username, account, grant }, ended),
    });
  }

  /** Takes a client in whom the admin accepted, or says why not. */
  function taken({ client, username, account, grant }: Login, ended: ReadonlySet<string>): string | null {
    if (isClosed) return 'this machine stops';
    if (ended.has(grant.ssh_username_id) || (grant.ssh_public_key_id !== null && ended.has(grant.ssh_public_key_id)))
      return 'this user or key was deleted';
    if (live.size >= limits.connectionsMax)
      return `${limits.connectionsMax} connections to this machine are open: that is all it takes`;
    const ofUser = [...live].filter((other) => other.grant.ssh_username_id === grant.ssh_username_id).length;
    if (ofUser >= limits.connectionsPerUserMax)
      return `${limits.connectionsPerUserMax} connections of ${username} are open: that is all this machine takes of one user`;
    const socket = socketOf(client);
    const connection: LiveConnection = new LiveConnection({
      client,
      username,
      grant,
      launcher,
      pipes,
      limits,
      log,
      egress: options.egress,
      sftpCommand: options.sftpCommand,
      recording: options.recording ?? null,
      account,
      origin: {
        clientAddress: socket.remoteAddress ?? '',
        clientPort: socket.remotePort ?? 0,
        serverAddress: socket.localAddress ?? '',
        serverPort: socket.localPort ?? 0,
      },
      closed: () => {
        live.delete(connection);
        const idle = connection.idle();
        ending.add(idle);
        void idle.finally(() => ending.delete(idle));
        log.info({ username }, 'An SSH connection ended');
      },
    });
    live.add(connection);
    strangers.get(socket)?.();
    log.info({ username, with: grant.ssh_public_key_id === null ? 'password' : 'key' }, 'An SSH user logged in');
    return null;
  }

  return {
    async start() {
      let port = options.port;
      for (const host of options.hosts) {
        if (protocol === null) break;
        const listener = createServer({ noDelay: true, keepAlive: true }, knocked);
        const listened = await listenAt(listener, {
          host,
          port,
          orAnother: options.orAnotherPort === true && listeners.length === 0,
        });
        if (listened.ok) {
          ({ port } = listened);
          listeners.push(listener);
          listener.on('error', () => {}); // of one accept, such as too many open files: the next may do
        } else {
          problems.push(`SSH does not listen on port ${port}: ${listened.reason}`);
          log.debug({ host, port, code: listened.code }, 'SSH does not listen');
        }
      }
      for (const problem of problems) log.error({}, `${problem[0]?.toUpperCase()}${problem.slice(1)}`);
      return listeners.length === 0 ? null : port;
    },
    get problem() {
      return problems[0] ?? options.recording?.spool.problem ?? null;
    },
    hostKeyFingerprint: hostKey.ok ? hostKey.fingerprint : null,
    counters,
    grants() {
      const grants = new Map(
        [...live].map(({ grant }) => [`${grant.ssh_username_id} ${grant.ssh_public_key_id}`, grant]),
      );
      return [...grants.values()].slice(0, SSH_GRANTS_MAX);
    },
    end(usernameIds, keyIds) {
      const gone = new Set([...usernameIds, ...keyIds]);
      for (const ended of attempts) for (const id of gone) ended.add(id);
      for (const connection of live) {
        const { ssh_username_id: user, ssh_public_key_id: key } = connection.grant;
        if (gone.has(user) || (key !== null && gone.has(key)))
          connection.end(`The ${gone.has(user) ? 'user' : 'key'} of this session was deleted`, REVOKED_HANG_UP_MS);
      }
    },
    async close() {
      isClosed = true;
      for (const listener of listeners) listener.close();
      for (const connection of live) connection.end('The agent of this machine stops', STOP_HANG_UP_MS);
      const connections = [...live];
      for (const socket of sockets) socket.destroySoon();
      await Promise.all([...ending, ...connections.map((connection) => connection.idle())]);
      for (const socket of sockets) socket.destroy();
      pipes.close();
    },
  };
}
