/** Who is logged in over SSH: at most so many, each until its client goes, it is revoked, or the agent stops. */
import type { Connection } from 'ssh2';
import { SSH_GRANTS_MAX } from '../../../transport/protocol/limits.ts';
import type { SshGrant } from '../../../transport/protocol/ssh.ts';
import type { SshSessions } from '../../../transport/protocol/ssh-sessions.ts';
import type { Account } from './login/accounts.ts';
import { LiveConnection, type LiveOptions } from './connection.ts';
import { socketOf } from './library.ts';
import type { SshLimits } from './limits.ts';

/** Of what a revoked user leaves running, KILL follows HUP after this, in ms: within the second that E5 gives. */
const REVOKED_HANG_UP_MS = 500;

/** At the stop of the agent KILL follows HUP after this, in ms. */
const STOP_HANG_UP_MS = 1_000;

/** Somebody whom the admin accepted, and the account that it becomes. */
export interface Login {
  readonly client: Connection;
  readonly username: string;
  readonly account: Account;
  readonly grant: SshGrant;
}

/** What connections have in common. */
export type LoggedInOptions = Omit<LiveOptions, keyof Login | 'origin' | 'closed'>;

/** The live connections of one server. */
export class LoggedIn {
  readonly #options: LoggedInOptions;
  readonly #limits: SshLimits;
  readonly #live = new Set<LiveConnection>();
  /** Connections that are over, until none of their processes is left. */
  readonly #ending = new Set<Promise<void>>();
  /** Of each login that is under way, users and keys that ended meanwhile. */
  readonly #attempts = new Set<Set<string>>();
  #isClosed = false;

  constructor(options: LoggedInOptions) {
    this.#options = options;
    this.#limits = options.limits;
  }

  /** A login is under way: users and keys that end meanwhile are put into the set. The answer stops that. */
  watchEnds(ended: Set<string>): () => void {
    this.#attempts.add(ended);
    return () => this.#attempts.delete(ended);
  }

  /** Takes a client in whom the admin accepted, or says why not. `ended`: users and keys that are gone since. */
  take(login: Login, ended: ReadonlySet<string>): string | null {
    const problem = this.#problemOf(login, ended);
    if (problem !== null) return problem;
    const { username, grant } = login;
    const { log } = this.#options;
    const socket = socketOf(login.client);
    const connection: LiveConnection = new LiveConnection({
      ...this.#options,
      ...login,
      origin: {
        clientAddress: socket.remoteAddress ?? '',
        clientPort: socket.remotePort ?? 0,
        serverAddress: socket.localAddress ?? '',
        serverPort: socket.localPort ?? 0,
      },
      closed: () => {
        this.#live.delete(connection);
        const idle = connection.idle();
        this.#ending.add(idle);
        void idle.finally(() => this.#ending.delete(idle));
        log.info({ username }, 'An SSH connection ended');
      },
    });
    this.#live.add(connection);
    log.info({ username, with: grant.ssh_public_key_id === null ? 'password' : 'key' }, 'An SSH user logged in');
    return null;
  }

  #problemOf({ grant, username }: Login, ended: ReadonlySet<string>): string | null {
    const { connectionsMax, connectionsPerUserMax } = this.#limits;
    if (this.#isClosed) return 'this machine stops';
    if (isAmong(grant, ended)) return 'this user or key was deleted';
    if (this.#live.size >= connectionsMax)
      return `${connectionsMax} connections to this machine are open: that is all it takes`;
    const ofUser = [...this.#live].filter((other) => other.grant.ssh_username_id === grant.ssh_username_id).length;
    return ofUser >= connectionsPerUserMax
      ? `${connectionsPerUserMax} connections of ${username} are open: that is all this machine takes of one user`
      : null;
  }

  /** By whom the live connections were opened, each once. */
  grants(): readonly SshGrant[] {
    const grants = new Map(
      [...this.#live].map(({ grant }) => [`${grant.ssh_username_id} ${grant.ssh_public_key_id}`, grant]),
    );
    return [...grants.values()].slice(0, SSH_GRANTS_MAX);
  }

  /** Who is logged in, the latest first. Of more than `sessionsToldMax` the others are counted alone. */
  sessions(): SshSessions {
    const nowMs = this.#options.aliveMs();
    const latest = [...this.#live].toReversed().slice(0, this.#limits.sessionsToldMax);
    return { session_count: this.#live.size, sessions: latest.map((connection) => connection.told(nowMs)) };
  }

  /** These users and keys are gone: what they opened ends now, and so does a login of theirs that is under way (E5). */
  end(gone: ReadonlySet<string>): void {
    for (const ended of this.#attempts) for (const id of gone) ended.add(id);
    for (const connection of this.#live) {
      const { grant } = connection;
      if (isAmong(grant, gone))
        connection.end(
          `The ${gone.has(grant.ssh_username_id) ? 'user' : 'key'} of this session was deleted`,
          REVOKED_HANG_UP_MS,
        );
    }
  }

  /** Ends all, and takes nobody in any more. Resolves when no process of a session is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const connections = [...this.#live];
    for (const connection of connections) connection.end('The agent of this machine stops', STOP_HANG_UP_MS);
    await Promise.all([...this.#ending, ...connections.map((connection) => connection.idle())]);
  }
}

function isAmong({ ssh_username_id: user, ssh_public_key_id: key }: SshGrant, ids: ReadonlySet<string>): boolean {
  return ids.has(user) || (key !== null && ids.has(key));
}
