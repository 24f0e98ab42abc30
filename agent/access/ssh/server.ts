/** The SSH server of the agent: listens, lets in whom the admin lets in, and knows who is there. */
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import ssh2 from 'ssh2';
import type { Connection } from 'ssh2';
import { aliveMs } from '../../../transport/net/uptime.ts';
import type { SshGrant } from '../../../transport/protocol/ssh.ts';
import type { SshSessions } from '../../../transport/protocol/ssh-sessions.ts';
import { listenForAdmins, type OwnPlace } from '../../listening.ts';
import { vpnAddresses } from '../../vpn/interface-names.ts';
import type { Egress } from '../egress/egress.ts';
import type { Log } from '../../../transport/net/log.ts';
import { SSH_ALGORITHMS } from '../../../transport/net/ssh/algorithms.ts';
import { guardPeer } from '../../../transport/net/ssh/peer-guard.ts';
import { accountsOfMachine } from './login/accounts.ts';
import type { AccountOf } from './login/accounts.ts';
import { openHostKey, type HostKey } from './host-key.ts';
import { createLauncher } from './sessions/launch.ts';
import type { SftpCommand } from './sessions/launch.ts';
import { DISCONNECT, cutSoon, disconnect, socketOf } from './library.ts';
import { GOODBYE_MS_MAX, SOCKET_WAITING_BYTES_MAX, SSH_LIMITS } from './limits.ts';
import type { SshLimits } from './limits.ts';
import { LoggedIn } from './logged-in.ts';
import { answerLogins, type VerifySsh } from './login/login.ts';
import type { Recording } from './recording/recorder.ts';
import type { LoadPty } from './sessions/terminal.ts';
import { PipePool, pipesDirectory } from './sessions/pipes.ts';

import { UnauthenticatedConnections } from './login/unauthenticated-connections.ts';

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
  /** Addresses of this machine in VPNs, unless a test has its own. */
  readonly vpnAddresses?: () => readonly string[];
  /** Makes terminals; node-pty, unless a test has none. */
  readonly loadPty?: LoadPty;
  readonly limits?: Partial<SshLimits>;
}

/** The server. No method throws. */
export class SshServer {
  readonly #options: SshServerOptions;
  readonly #hostKey: HostKey;
  readonly #protocol: ssh2.Server | null;
  readonly #accountOf: AccountOf;
  readonly #pipes: PipePool;
  readonly #limits: SshLimits;
  readonly #unauthenticated: UnauthenticatedConnections;
  readonly #loggedIn: LoggedIn;
  readonly #sockets = new Set<Socket>();
  #listeners: readonly Server[] = [];
  #place: OwnPlace | null = null;
  readonly #problems: string[] = [];
  #isClosed = false;

  /** Since the start. */
  readonly counters = { authentications: 0, connections: 0 };

  /** Does not listen yet. The host key is made or read here. */
  constructor(options: SshServerOptions) {
    this.#options = options;
    this.#limits = { ...SSH_LIMITS, ...options.limits };
    this.#hostKey = openHostKey(options.hostKeyPath);
    this.#protocol = this.#createProtocol();
    this.#accountOf = options.accounts ?? accountsOfMachine();
    this.#pipes = new PipePool(pipesDirectory(options.hostKeyPath));
    this.#unauthenticated = new UnauthenticatedConnections(this.#limits);
    this.#loggedIn = new LoggedIn({
      launcher: createLauncher({ environment: options.environment }),
      pipes: this.#pipes,
      limits: this.#limits,
      log: options.log,
      egress: options.egress,
      sftpCommand: options.sftpCommand,
      recording: options.recording ?? null,
      loadPty: options.loadPty,
      aliveMs,
      vpnAddresses: options.vpnAddresses ?? (() => vpnAddresses()),
    });
  }

  /** Null without a host key: `problem` then says why. */
  #createProtocol(): ssh2.Server | null {
    if (!this.#hostKey.ok) {
      this.#problems.push(this.#hostKey.problem);
      return null;
    }
    return new ssh2.Server(
      {
        hostKeys: [this.#hostKey.privateKey],
        ident: 'edge-agent',
        algorithms: SSH_ALGORITHMS,
        keepaliveInterval: this.#limits.keepAliveMs,
        keepaliveCountMax: this.#limits.keepAlivesMissedMax,
      },
      (client) => this.#connected(client),
    );
  }

  /** Listens. Resolves with the port, or null when it got none: then `problem` says why. */
  async start(): Promise<number | null> {
    const { hosts, port, orAnotherPort = false, log } = this.#options;
    const listened = await listenForAdmins({
      hosts: this.#protocol === null ? [] : hosts,
      port,
      orAnother: orAnotherPort,
      newServer: () => createServer({ noDelay: true, keepAlive: true }, (socket) => this.#accepted(socket)),
    });
    this.#listeners = listened.servers;
    this.#place = listened.place;
    for (const listener of listened.servers) listener.on('error', () => {}); // of one accept, such as too many open files: the next may do
    for (const { host, port: wanted, reason, code } of listened.failures) {
      this.#problems.push(`SSH does not listen on port ${wanted}: ${reason}`);
      log.debug({ host, port: wanted, code }, 'SSH does not listen');
    }
    for (const problem of this.#problems) log.error({}, `${problem[0]?.toUpperCase()}${problem.slice(1)}`);
    return listened.port;
  }

  /** Where admins reach it, also while its port is another program's; null: nowhere. */
  get place(): OwnPlace | null {
    return this.#place;
  }

  /** Null while all is well, else one sentence. */
  get problem(): string | null {
    const { recording } = this.#options;
    const isRecording = recording != null && recording.settings().mode !== 'off';
    return this.#problems[0] ?? (isRecording ? recording.spool.problem : null);
  }

  /** As `ssh-keygen -l` writes it; null when there is no host key. */
  get hostKeyFingerprint(): string | null {
    return this.#hostKey.ok ? this.#hostKey.fingerprint : null;
  }

  /** As known_hosts has it; null when there is no host key. */
  get hostPublicKey(): string | null {
    return this.#hostKey.ok ? this.#hostKey.publicKey : null;
  }

  /** By whom the live connections were opened, each once. */
  grants(): readonly SshGrant[] {
    return this.#loggedIn.grants();
  }

  /** Who is logged in now. */
  sessions(): SshSessions {
    return this.#loggedIn.sessions();
  }

  /** These are gone: what they opened ends now, and so does a login of theirs that is under way (E5). */
  end(usernameIds: readonly string[], keyIds: readonly string[]): void {
    this.#loggedIn.end(new Set([...usernameIds, ...keyIds]));
  }

  /** Ends everything. Resolves when no process of a session is left, within seconds. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const listener of this.#listeners) listener.close();
    const ended = this.#loggedIn.close();
    for (const socket of this.#sockets) socket.destroySoon();
    await ended;
    for (const socket of this.#sockets) socket.destroy();
    this.#pipes.close();
  }

  /** A socket, before anything is known of it. */
  #accepted(socket: Socket): void {
    socket.on('error', () => {}); // its close follows
    const problem = this.#isClosed ? 'this machine stops' : this.#unauthenticated.enter(socket);
    if (problem !== null) {
      socket.end(`${problem}\r\n`); // before its version a server may say anything. Source: RFC 4253, 4.2
      socket.resume();
      setTimeout(() => socket.destroy(), GOODBYE_MS_MAX).unref();
      return;
    }
    this.counters.connections += 1;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    socket.once('finish', () => {
      setTimeout(() => socket.destroy(), GOODBYE_MS_MAX).unref();
    });
    this.#protocol?.injectSocket(socket);
    // What a client makes this server say and does not read is bounded by not reading from it either.
    socket.on('data', () => {
      if (socket.writableLength <= SOCKET_WAITING_BYTES_MAX) return;
      socket.pause();
      socket.once('drain', () => socket.resume());
    });
  }

  /** A client that speaks SSH. */
  #connected(client: Connection): void {
    const { log, verify } = this.#options;
    const socket = socketOf(client);
    // Each channel listens to both, and their number has a limit.
    for (const emitter of [client, socket]) emitter.setMaxListeners(0);
    const address = socket.remoteAddress ?? '';
    const failed = (problem: string): void => log.debug({ address, problem }, 'An SSH connection failed');
    client.on('error', (error) => {
      failed(error.message);
      if ((error as { level?: string }).level === 'client-timeout') socket.destroy();
      else cutSoon(socket);
    });
    guardPeer(client, {
      peer: 'client',
      bytes: () => socket.bytesRead + socket.bytesWritten,
      keyExchangeMsMax: this.#limits.keyExchangeMsMax,
      violated: (problem) => {
        failed(problem);
        disconnect(client, DISCONNECT.protocolError, problem);
      },
      left: () => cutSoon(socket),
    });
    answerLogins({
      client,
      log,
      verify,
      accountOf: this.#accountOf,
      triesMax: this.#limits.triesMax,
      counted: () => {
        this.counters.authentications += 1;
      },
      failed: () => this.#unauthenticated.failed(address),
      watchEnds: (ended) => this.#loggedIn.watchEnds(ended),
      accepted: (username, account, grant, ended) => {
        const problem = this.#loggedIn.take({ client, username, account, grant }, ended);
        if (problem === null) this.#unauthenticated.leave(socket);
        return problem;
      },
    });
  }
}
