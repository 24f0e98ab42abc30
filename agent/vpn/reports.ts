/** How well this machine is connected in its VPN, told to the admin now and then. */
import type { VpnPath, VpnReport } from '../../transport/protocol/vpn.ts';
import type { Member } from '../../transport/vpn/member/member.ts';
import type { SessionClock } from '../session/ports.ts';
import type { NetworkMap } from './network-map.ts';

/** How often the admin is told, in ms; a change of a path is told sooner. */
const REPORT_MS = 30_000;

/** Changes of paths within this time are told together, in ms. */
const REPORT_GATHER_MS = 1_000;

/** When reports are due. */
export class Reports {
  readonly #clock: SessionClock;
  readonly #report: () => boolean;
  #dueMs = 0;
  #isStopped = false;
  #cancel = (): void => {};

  /** `report`: false: there is nothing to tell of, and nothing is due then. */
  constructor(clock: SessionClock, report: () => boolean) {
    this.#clock = clock;
    this.#report = report;
  }

  /** Reports from now on, until it is stopped. */
  start(): void {
    this.#isStopped = false;
    this.#within(REPORT_MS);
  }

  /** A path changed. Once it is stopped that is nobody's news: a member that goes loses its paths. */
  soon(): void {
    if (!this.#isStopped) this.#within(REPORT_GATHER_MS);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
    this.#dueMs = 0;
  }

  #within(ms: number): void {
    const nowMs = this.#clock.nowMs();
    const dueMs = nowMs + ms;
    if (this.#dueMs > nowMs && this.#dueMs <= dueMs) return;
    this.#cancel();
    this.#dueMs = dueMs;
    this.#cancel = this.#clock.after(ms, () => {
      this.#dueMs = 0;
      if (this.#report()) this.#within(REPORT_MS);
    });
  }
}

/** How many peers it reaches which way, and how the gateway. */
export function reportOf(member: Member, networkMap: NetworkMap | null): VpnReport {
  const paths = member.paths();
  const count = (path: VpnPath): number => paths.filter((one) => one.path === path).length;
  const gateway = paths.find(({ publicKey }) => networkMap?.peers.get(publicKey)?.node === null);
  return {
    direct: count('direct'),
    relayed: count('relayed'),
    none: count('none'),
    gateway:
      gateway === undefined
        ? null
        : {
            path: gateway.path,
            handshake_age_ms: gateway.handshakeAgeMs === null ? null : Math.round(gateway.handshakeAgeMs),
          },
  };
}
