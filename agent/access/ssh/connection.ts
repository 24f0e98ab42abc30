/** One logged-in connection: its sessions and streams, until either side ends it. */
import { isIP } from 'node:net';
import type { Connection } from 'ssh2';
import { plainAddress } from '../../../transport/net/addresses.ts';
import type { SshGrant } from '../../../transport/protocol/ssh.ts';
import type { SshOpenKind, SshSession } from '../../../transport/protocol/ssh-sessions.ts';
import type { Egress } from '../egress/egress.ts';
import { refuseBeyondLimit } from './channel-limit.ts';
import { carryForwards, type Carried } from './forwarding/forwards.ts';
import { DISCONNECT, disconnect, guardChannels } from './library.ts';
import { openRemoteForwards } from './forwarding/remote-forwards.ts';
import { ShellSession } from './sessions/session.ts';
import type { SessionHost } from './sessions/session.ts';

/** What a connection is made of. */
export interface LiveOptions extends SessionHost {
  readonly egress: Egress;
  /** A clock that only goes forward, also while the machine is suspended, in ms. */
  readonly aliveMs: () => number;
  /** Addresses of this machine in VPNs now. */
  readonly vpnAddresses: () => readonly string[];
  /** The connection is over; processes may still be ending. */
  readonly closed: () => void;
}

/** A logged-in connection. */
export class LiveConnection {
  readonly username: string;
  readonly grant: SshGrant;
  readonly #client: Connection;
  readonly #sessions = new Set<ShellSession>();
  readonly #carried: Carried = new Set();
  readonly #ports: () => number;
  readonly #account: string;
  /** Null: through a VPN, where this machine may be no more when it is asked (R3), or not known. */
  readonly #clientAddress: string | null;
  readonly #sinceMs: number;
  readonly #whenIdle: (() => void)[] = [];
  readonly #closed: () => void;
  #hangUpMs: number;
  #isOver = false;

  /** Must be made before the login is answered, so that nothing of the client is missed. */
  constructor(options: LiveOptions) {
    const { client, limits, origin } = options;
    this.username = options.username;
    this.grant = options.grant;
    this.#client = client;
    this.#account = options.account.name;
    const own = addressOf(origin.serverAddress);
    const isThroughVpn = own !== null && isOfVpn(own, options.vpnAddresses);
    this.#clientAddress = isThroughVpn ? null : addressOf(origin.clientAddress);
    this.#sinceMs = options.aliveMs();
    this.#closed = options.closed;
    this.#hangUpMs = limits.hangUpMs;
    guardChannels(client, (problem) => disconnect(client, DISCONNECT.byApplication, problem));
    client.on('session', (accept, reject) => {
      if (refuseBeyondLimit(client, reject, limits)) return;
      const session: ShellSession = new ShellSession(accept(), options, () => this.#left(session));
      this.#sessions.add(session);
    });
    carryForwards(client, options.egress, limits, this.#carried);
    this.#ports = openRemoteForwards(client, options.account, limits, this.#carried);
    client.on('end', () => this.#over()).on('close', () => this.#over());
  }

  /** Who it is and what is open on it, at this time of the clock that it began with. */
  told(aliveMs: number): SshSession {
    const kinds = [...this.#sessions].map(({ kind }) => kind);
    const count = (kind: SshOpenKind): number => kinds.filter((one) => one === kind).length;
    return {
      username: this.username,
      account: this.#account,
      age_ms: Math.max(0, Math.round(aliveMs - this.#sinceMs)),
      client_address: this.#clientAddress,
      shells: count('shells'),
      commands: count('commands'),
      file_transfers: count('file_transfers'),
      forwarded_connections: this.#carried.size,
      forwarded_ports: this.#ports(),
      is_recorded: [...this.#sessions].some(({ isRecorded }) => isRecorded),
    };
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

/** Without the name of an interface, and as IPv4 where it is carried by IPv6; null: a socket that was cut has none. */
function addressOf(address: string): string | null {
  const plain = plainAddress(address).replace(/%.*$/u, '');
  return isIP(plain) === 0 ? null : plain;
}

/** Where that cannot be known, it counts as one (R3). */
function isOfVpn(own: string, vpnAddresses: () => readonly string[]): boolean {
  try {
    return vpnAddresses().includes(own);
  } catch {
    return true; // no file can be opened, or the system does not tell its interfaces
  }
}
