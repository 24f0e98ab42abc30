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
import { SESSION_MS_MAX, SWEEP_MS } from './limits.ts';
import { createResponder } from './noise.ts';
import { createObserverPort } from './port.ts';
import type { ObserverPort } from './port.ts';
import { createHandshakeQuota } from './quota.ts';
import { lastHeardMs, neverSeen, observe, toTell } from './observed-endpoints.ts';
import type { Place, ObservedEndpoints } from './observed-endpoints.ts';
import { openObserverSocket } from './socket.ts';
import type { ObserverSocket } from './socket.ts';

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

/** A running observer. */
export interface EndpointObserver {
  /**
   * Ports that could be had; without any, nobody is seen, and members reach each other on their LAN, by their own
   * addresses, or by relays.
   */
  readonly places: readonly ObserverPlace[];
  readonly counters: Readonly<ObserverCounters>;
  /** Members that have shaken hands lately. */
  members(): number;
  /** Its ports: `closed` for the moment, by a flood; `missing`: could not be had. */
  ports(): Readonly<Record<'open' | 'closed' | 'missing', number>>;
  close(): Promise<void>;
}

/** Starts one. A port that is taken is done without, and said once. */
export async function startEndpointObserver<Member>(options: ObserverOptions<Member>): Promise<EndpointObserver> {
  const { host, port: firstPort, memberOf, clock, monotonicMs, log } = options;
  const counters = noneObserved();
  const quota = createHandshakeQuota();
  const known = new Map<string, { member: Member; observed: ObservedEndpoints }>();
  const due = new Set<string>();
  const opened: { readonly place: ObserverPlace; readonly port: ObserverPort; readonly socket: ObserverSocket }[] = [];
  const failures: string[] = [];

  for (let at = 0; at < PORTS; at++) {
    const wanted = firstPort === 0 ? 0 : firstPort + at;
    try {
      opened.push(await openPort(opened.length, wanted));
    } catch (error) {
      failures.push(
        `UDP port ${wanted} cannot be listened on (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
      );
    }
  }
  if (failures.length > 0)
    log.warn(
      { problem: failures.join('; ') },
      'the observer of the VPN does without a port: machines behind NAT may have to use relays',
    );

  async function openPort(at: number, wanted: number): Promise<(typeof opened)[number]> {
    const responder = createResponder();
    const port: ObserverPort = createObserverPort<Member>({
      responder,
      quota,
      counters,
      monotonicMs,
      memberOf,
      send: (packet, to) => socket.send(packet, to),
      seen: (publicKey, member, from) => see(at, publicKey, member, from),
    });
    const socket: ObserverSocket = await openObserverSocket({
      host,
      port: wanted,
      clock,
      monotonicMs,
      onPacket: (packet, from) => port.take(packet, from),
      onShut() {
        counters.shut += 1;
        log.warn({ port: socket.port }, 'a port of the observer is flooded and closed for some seconds');
      },
    });
    return { place: { port: socket.port, publicKey: responder.publicKey }, port, socket };
  }

  function see(at: number, publicKey: string, member: Member, from: RemoteInfo): void {
    const endpoint = endpointOfPeer(from);
    if (endpoint === null) return;
    const nowMs = monotonicMs();
    const observed = known.get(publicKey)?.observed ?? neverSeen(opened.length);
    known.set(publicKey, { member, observed: observe(observed, at, endpoint, nowMs) });
    tell(publicKey, nowMs);
  }

  function tell(publicKey: string, nowMs: number): void {
    const entry = known.get(publicKey);
    if (entry === undefined) return void due.delete(publicKey);
    const { observed, place, isDueLater } = toTell(entry.observed, nowMs);
    entry.observed = observed;
    if (isDueLater) due.add(publicKey);
    else due.delete(publicKey);
    if (place === null) return;
    counters.told += 1;
    options.seen(entry.member, publicKey, place);
  }

  let cancel = clock.after(SWEEP_MS, sweep);
  function sweep(): void {
    const nowMs = monotonicMs();
    for (const publicKey of due) tell(publicKey, nowMs);
    for (const { port } of opened) port.sweep();
    for (const [publicKey, { observed }] of known)
      if (nowMs - (lastHeardMs(observed) ?? 0) > SESSION_MS_MAX) known.delete(publicKey);
    cancel = clock.after(SWEEP_MS, sweep);
  }

  return {
    places: opened.map(({ place }) => place),
    counters,
    members: () => known.size,
    ports() {
      const open = opened.filter(({ socket }) => socket.isOpen()).length;
      return { open, closed: opened.length - open, missing: failures.length };
    },
    async close() {
      cancel();
      await Promise.all(opened.map(({ socket }) => socket.close()));
    },
  };
}

/** As WireguardEndpoint; null: an address that has a meaning on one link only. */
function endpointOfPeer({ address, port }: RemoteInfo): string | null {
  const plain = plainAddress(address);
  return plain.includes('%') ? null : endpointOf(plain, port);
}
