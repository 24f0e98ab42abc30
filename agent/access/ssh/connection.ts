/** One logged-in connection: its sessions and streams, until either side ends it. */
import type { Connection } from 'ssh2';
import type { SshGrant } from '../../../transport/protocol/ssh.ts';
import type { Egress } from '../egress/egress.ts';
import { refuseBeyondLimit } from './channel-limit.ts';
import { carryForwards } from './forwarding/forwards.ts';
import { DISCONNECT, disconnect, guardChannels } from './library.ts';
import { openRemoteForwards } from './forwarding/remote-forwards.ts';
import { ShellSession } from './sessions/session.ts';
import type { SessionHost } from './sessions/session.ts';

/** What a connection is made of. */
export interface LiveOptions extends SessionHost {
  readonly egress: Egress;
  /** The connection is over; processes may still be ending. */
  readonly closed: () => void;
}

/** A logged-in connection. */
export class LiveConnection {
  readonly username: string;
  readonly grant: SshGrant;
  readonly #client: Connection;
  readonly #sessions = new Set<ShellSession>();
  readonly #whenIdle: (() => void)[] = [];
  readonly #closed: () => void;
  #hangUpMs: number;
  #isOver = false;

  /** Must be made before the login is answered, so that nothing of the client is missed. */
  constructor(options: LiveOptions) {
    const { client, limits } = options;
    this.username = options.username;
    this.grant = options.grant;
    this.#client = client;
    this.#closed = options.closed;
    this.#hangUpMs = limits.hangUpMs;
    guardChannels(client, (problem) => disconnect(client, DISCONNECT.byApplication, problem));
    client.on('session', (accept, reject) => {
      if (refuseBeyondLimit(client, reject, limits)) return;
      const session: ShellSession = new ShellSession(accept(), options, () => this.#left(session));
      this.#sessions.add(session);
    });
    carryForwards(client, options.egress, limits);
    openRemoteForwards(client, options.account, limits);
    client.on('end', () => this.#over()).on('close', () => this.#over());
  }

  /** Ends it now: the client is told why, and what it runs gets HUP, and KILL after `hangUpMs`. */
  end(text: string, hangUpMs: number): void {
    this.#hangUpMs = Math.min(this.#hangUpMs, hangUpMs);
    disconnect(this.#client, DISCONNECT.byApplication, text);
    this.#over();
  }

  /** Resolves when no session of it has a process left to be ended. */
  async idle(): Promise<void> {
    if (this.#sessions.size > 0)
      await new Promise<void>((resolve) => {
        this.#whenIdle.push(resolve);
      });
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const session of this.#sessions) session.vanish(this.#hangUpMs);
    this.#closed();
  }

  #left(session: ShellSession): void {
    this.#sessions.delete(session);
    if (this.#sessions.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}
