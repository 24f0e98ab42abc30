/**
 * The second connection of a session: tried with another admin while the first one stays open and says nothing, so that
 * whoever took the cluster over is found before the silence is long enough for the end.
 */
import { CLOSE } from '../../transport/protocol/close-codes.ts';
import type { Connection } from './connection.ts';
import { isNoAdmin } from './endings.ts';
import { OtherAdmins } from './other-admins.ts';
import type { SessionPorts } from './ports.ts';
import { Suspicion } from './suspicion.ts';

/** What it needs of its session. */
export interface BesidePorts extends Pick<SessionPorts, 'random' | 'log'> {
  /** http(s) URLs of admins in order of preference. */
  readonly urls: () => readonly string[];
  /** Connects to the admin at this URL; the session hears of it as of its first connection. */
  readonly connect: (url: string) => Connection;
  /** The admin of the first connection went silent, or answers again. */
  readonly doubted: (isSilent: boolean) => void;
}

/** Beside one connection. At most one other at any time; none while the first one answers. */
export class Beside {
  readonly #url: string;
  readonly #ports: BesidePorts;
  #suspicion: Suspicion;
  #others: OtherAdmins | null = null;
  #second: Connection | null = null;
  #hasGreeted = false;

  /** `url`: the admin of the first connection, suspicious where nothing follows a ping for `afterMs`. */
  constructor(url: string, afterMs: number, ports: BesidePorts) {
    this.#url = url;
    this.#suspicion = new Suspicion(afterMs);
    this.#ports = ports;
  }

  /** A hello went out on a second connection: an admin that hangs up for a newer session may mean that one. */
  get hasGreeted(): boolean {
    return this.#hasGreeted || this.#second?.hasGreeted === true;
  }

  /** Another timeout from now on. */
  waits(afterMs: number): void {
    if (afterMs === this.#suspicion.afterMs) return;
    this.drop();
    this.#suspicion = new Suspicion(afterMs);
  }

  pinged(nowMs: number): void {
    this.#suspicion.pinged(nowMs);
  }

  /** The first connection is well: there is no need of a second one. */
  heard(): void {
    if (!this.#suspicion.heard() || this.#others === null) return;
    this.#ports.log.info({ admin: this.#url }, 'The admin answers again');
    this.drop();
    this.#ports.doubted(false);
  }

  /** Connects to another admin where that is due. */
  look(nowMs: number): void {
    if (!this.#suspicion.takeAsk(nowMs)) return;
    const others = this.#others ?? new OtherAdmins(this.#url, this.#ports.urls);
    const url = others.next();
    if (url === null) return this.#suspicion.refused(nowMs, false, 0);
    if (this.#others === null) {
      this.#others = others;
      this.#ports.log.info({ admin: this.#url }, 'The admin is silent: another one is asked meanwhile');
      this.#ports.doubted(true);
    }
    this.#second = this.#ports.connect(url);
  }

  /** The second connection has ended without a welcome. */
  refused(code: number, reason: string, nowMs: number): void {
    const others = this.#others;
    if (this.#second === null || others === null) return;
    this.#noteGreeting();
    this.#second = null;
    const isNextAtOnce =
      code === CLOSE.elsewhere ? others.redirected(reason) : isNoAdmin(code) ? others.unreached() : others.refused();
    this.#suspicion.refused(nowMs, isNextAtOnce, this.#ports.random());
  }

  /** Gives the second connection away, as it stands. */
  take(): Connection | null {
    const second = this.#second;
    this.#second = null;
    return second;
  }

  /** Hangs up on it. */
  drop(): void {
    this.#noteGreeting();
    this.take()?.cut();
    this.#others = null;
  }

  isSecond(connection: Connection): boolean {
    return connection === this.#second;
  }

  /** In how many ms there is something to do. */
  nextMs(nowMs: number): number {
    return this.#suspicion.nextMs(nowMs);
  }

  #noteGreeting(): void {
    this.#hasGreeted = this.hasGreeted;
  }
}
