/**
 * Sees where members' WireGuard sockets come from. That socket belongs to the kernel or to wireguard-go, and no other
 * program can send from it: so members have the observer as a peer without addresses, to which their WireGuard itself
 * shakes hands and sends an empty packet every 25 s.
 */
import type { RemoteInfo } from 'node:dgram';
import type { Clock } from '../../../actors/ports.ts';
import type { Log } from '../../net/log.ts';
import { plainAddress } from '../../net/addresses.ts';
import { endpointOf } from '../../net/endpoints.ts';
import { noneObserved } from './counters.ts';
import type { ObserverCounters } from './counters.ts';
import { SESSION_MS_MAX, SHUT_MS, SWEEP_MS } from './limits.ts';
import { Responder } from './noise.ts';
import { ObserverPort } from './port.ts';
import { createHandshakeQuota } from './quota.ts';
import { lastHeardMs, neverSeen, observe, toTell } from './observed-endpoints.ts';
import type { Place, ObservedEndpoints } from './observed-endpoints.ts';
import { ObserverSocket } from './socket.ts';

/** Ports of one observer: two, which tell the kind of a NAT. */
const PORTS = 2;

/** What an observer is given. `Member` is whatever the look-up answers. */
export interface ObserverOptions<Member> {
  /** Address to listen on; `::` is any, of both families. */
  readonly host: string;
  /** The first port; the second is the next one. 0 takes two free ones. */
  readonly port: number;
  /**
   * Who has this key; null: no member. A rejection is an unanswered handshake, which WireGuard begins again after 5 s.
   */
  readonly memberOf: (publicKey: string) => Promise<Member | null>;
  /** A member was seen for the first time, elsewhere, or again after a while. Damped. */
  readonly seen: (member: Member, publicKey: string, place: Place) => void;
  readonly clock: Pick<Clock, 'after'>;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** One port, as members are told of it. */
export interface ObserverPlace {
  readonly port: number;
  /**
   * Base64. New with each start: what was recorded before is worth nothing then, and members begin a handshake with a
   * new peer at once.
   */
  readonly publicKey: string;
}

/** One of its ports, with what is behind it. */
interface Opened<Member> {
  readonly place: ObserverPlace;
  readonly port: ObserverPort<Member>;
  readonly socket: ObserverSocket;
}

/** A running observer. */
export class EndpointObserver<Member> {
  readonly #options: ObserverOptions<Member>;
  readonly #counters = noneObserved();
  readonly #quota = createHandshakeQuota();
  readonly #known = new Map<string, { member: Member; observed: ObservedEndpoints }>();
  /** Members of whom there is something to tell later. */
  readonly #due = new Set<string>();
  readonly #opened: Opened<Member>[] = [];
  /** Ports that could not be had. */
  #missing: readonly number[] = [];
  #isClosed = false;
  #cancel: () => void = () => undefined;
  #cancelTry: () => void = () => undefined;
  #trying: Promise<void> = Promise.resolve();

  private constructor(options: ObserverOptions<Member>) {
    this.#options = options;
  }

  /**
   * Starts one. A port that is taken is done without until it can be had, which is tried each SHUT_MS, and said once.
   */
  static async start<Member>(options: ObserverOptions<Member>): Promise<EndpointObserver<Member>> {
    const observer = new EndpointObserver(options);
    await observer.#openAll();
    observer.#sweepLater();
    return observer;
  }

  /**
   * Ports that could be had until now; without any, nobody is seen, and members reach each other on their LAN, by their
   * own addresses, or by relays.
   */
  get places(): readonly ObserverPlace[] {
    return this.#opened.map(({ place }) => place);
  }

  get counters(): Readonly<ObserverCounters> {
    return this.#counters;
  }

  /** Members that have shaken hands lately. */
  members(): number {
    return this.#known.size;
  }

  /** Its ports: `closed` for the moment, by a flood; `missing`: could not be had. */
  ports(): Readonly<Record<'open' | 'closed' | 'missing', number>> {
    const open = this.#opened.filter(({ socket }) => socket.isOpen()).length;
    return { open, closed: this.#opened.length - open, missing: this.#missing.length };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    this.#cancelTry();
    await this.#trying;
    await Promise.all(this.#opened.map(({ socket }) => socket.close()));
  }

  async #openAll(): Promise<void> {
    const { port: first, log } = this.#options;
    const failures = await this.#openPorts(Array.from({ length: PORTS }, (_, at) => (first === 0 ? 0 : first + at)));
    if (failures.length > 0)
      log.warn(
        { problem: failures.join('; ') },
        'the observer of the VPN does without a port: machines behind NAT may have to use relays',
      );
  }

  /** Why some could not be had; these are tried again. */
  async #openPorts(ports: readonly number[]): Promise<readonly string[]> {
    const failed: { readonly port: number; readonly why: string }[] = [];
    for (const port of ports) {
      try {
        this.#opened.push(await this.#openPort(this.#opened.length, port));
      } catch (error) {
        const { code = 'unknown error' } = error as NodeJS.ErrnoException;
        failed.push({ port, why: `UDP port ${port} cannot be listened on (${code})` });
      }
    }
    this.#missing = failed.map(({ port }) => port);
    if (failed.length > 0 && !this.#isClosed)
      this.#cancelTry = this.#options.clock.after(SHUT_MS, () => {
        this.#trying = this.#tryAgain();
      });
    return failed.map(({ why }) => why);
  }

  async #tryAgain(): Promise<void> {
    const before = this.#opened.length;
    await this.#openPorts(this.#missing);
    for (const { place } of this.#opened.slice(before))
      this.#options.log.info({ port: place.port }, 'the observer of the VPN has a port that it did without');
  }

  async #openPort(at: number, wanted: number): Promise<Opened<Member>> {
    const { host, memberOf, clock, monotonicMs, log } = this.#options;
    const responder = new Responder();
    const port = new ObserverPort<Member>({
      responder,
      quota: this.#quota,
      counters: this.#counters,
      monotonicMs,
      memberOf,
      send: (packet, to) => socket.send(packet, to),
      seen: (publicKey, member, from) => this.#see(at, publicKey, member, from),
    });
    const socket: ObserverSocket = await ObserverSocket.open({
      host,
      port: wanted,
      clock,
      monotonicMs,
      onPacket: (packet, from) => port.take(packet, from),
      onShut: () => {
        this.#counters.shut += 1;
        log.warn({ port: socket.port }, 'a port of the observer is flooded and closed for some seconds');
      },
    });
    return { place: { port: socket.port, publicKey: responder.publicKey }, port, socket };
  }

  #see(at: number, publicKey: string, member: Member, from: RemoteInfo): void {
    const endpoint = endpointOfPeer(from);
    if (endpoint === null) return;
    const nowMs = this.#options.monotonicMs();
    const observed = this.#known.get(publicKey)?.observed ?? neverSeen(this.#opened.length);
    this.#known.set(publicKey, { member, observed: observe(observed, at, endpoint, nowMs) });
    this.#tell(publicKey, nowMs);
  }

  #tell(publicKey: string, nowMs: number): void {
    const entry = this.#known.get(publicKey);
    if (entry === undefined) return void this.#due.delete(publicKey);
    const { observed, place, isDueLater } = toTell(entry.observed, nowMs);
    entry.observed = observed;
    if (isDueLater) this.#due.add(publicKey);
    else this.#due.delete(publicKey);
    if (place === null) return;
    this.#counters.told += 1;
    this.#options.seen(entry.member, publicKey, place);
  }

  #sweepLater(): void {
    this.#cancel = this.#options.clock.after(SWEEP_MS, () => this.#sweep());
  }

  #sweep(): void {
    const nowMs = this.#options.monotonicMs();
    for (const publicKey of this.#due) this.#tell(publicKey, nowMs);
    for (const { port } of this.#opened) port.sweep();
    for (const [publicKey, { observed }] of this.#known)
      if (nowMs - (lastHeardMs(observed) ?? 0) > SESSION_MS_MAX) this.#known.delete(publicKey);
    this.#sweepLater();
  }
}

/** As WireguardEndpoint; null: an address that has a meaning on one link only. */
function endpointOfPeer({ address, port }: RemoteInfo): string | null {
  const plain = plainAddress(address);
  return plain.includes('%') ? null : endpointOf(plain, port);
}
