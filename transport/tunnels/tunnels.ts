/**
 * Tunnels to nodes: asked for over the control session when somebody wants in, opened by the agent, closed when nobody
 * uses them.
 */
import type { Log } from '../net/log.ts';
import type { NodeId } from '../protocol/ids.ts';
import { TUNNEL_IDLE_MS } from '../protocol/limits.ts';
import { notDialled } from '../net/streams/dialled.ts';
import type { Dialled } from '../net/streams/dialled.ts';
import type { Intake } from '../net/streams/paced-pieces.ts';
import type { Duplex } from 'node:stream';
import { VPN_AGAIN_MS, VPN_AGAIN_MS_MAX, TUNNEL_SWEEP_MS } from './limits.ts';
import { AskedTunnels } from './asked-tunnels.ts';
import { FrameShares } from './frame-shares.ts';
import type { TunnelAsking } from './asked-tunnels.ts';
import { Tunnel } from './tunnel.ts';
import type { TunnelTarget } from './tunnel.ts';

/** What tunnels need. */
export interface TunnelPorts extends TunnelAsking {
  readonly log: Log;
  /** Never goes back, in ms. */
  readonly monotonicMs: () => number;
}

/** How a tunnel came in: through the VPN, or to the URL that its agent knows of the admin. */
export const TUNNEL_WAYS = ['mesh', 'url'] as const;
export type TunnelWay = (typeof TUNNEL_WAYS)[number];

/** What happened so far, for metrics. */
export interface TunnelCounters {
  readonly opened: Readonly<Record<TunnelWay, number>>;
}

/** A tunnel, and how it came in. */
interface OpenTunnel {
  readonly tunnel: Tunnel;
  readonly way: TunnelWay;
}

/** The tunnels of this admin. None at first. */
export class Tunnels {
  readonly #opened: Record<TunnelWay, number> = { mesh: 0, url: 0 };
  readonly #ports: TunnelPorts;
  /** All that are open; the last of a node takes new streams. */
  readonly #open = new Map<NodeId, Set<OpenTunnel>>();
  readonly #asked: AskedTunnels;
  readonly #shares = new FrameShares();
  /** From when on a tunnel through the VPN is asked for again, and how long is waited after that. */
  readonly #vpnAgain = new Map<NodeId, { readonly atMs: number; readonly nextWaitMs: number }>();
  #isClosing = false;

  constructor(ports: TunnelPorts) {
    this.#ports = ports;
    this.#asked = new AskedTunnels(ports);
    ports.clock.after(TUNNEL_SWEEP_MS, () => this.#sweep());
  }

  get counters(): TunnelCounters {
    return { opened: this.#opened };
  }

  /**
   * The one way to a byte stream at a node. Opens its tunnel if there is none; connected when it resolves. Never
   * rejects. An admin that stood still reads a connection that the agent had given up before the one that it made then,
   * for which the token is spent: where the tunnel is such a one, the agent is asked once more, and no oftener,
   * whatever it does.
   */
  async reach(node: NodeId, target: TunnelTarget, signal: AbortSignal): Promise<Dialled> {
    const first = await this.#tunnelOf(node, signal);
    if ('ok' in first) return first;
    const dialled = await first.open(target, signal);
    if (dialled.ok || !first.isStillborn || signal.aborted) return dialled;
    const second = await this.#tunnelOf(node, signal);
    return 'ok' in second ? second : second.open(target, signal);
  }

  /** The one that takes new streams, or one that the agent is asked for; or why there is none. */
  async #tunnelOf(node: NodeId, signal: AbortSignal): Promise<Tunnel | Dialled> {
    if (this.#isClosing) return notDialled('overloaded', 'This admin is shutting down: try again shortly.');
    const present = this.#latest(node);
    if (present !== undefined) {
      if (present.way === 'url') this.#askForVpn(node);
      return present.tunnel;
    }
    if (this.#shares.wasCut(node, this.#ports.monotonicMs()))
      return notDialled('offline', 'The tunnel of this machine was cut, as it flooded: try again shortly.');
    return this.#asked.wait(node, signal);
  }

  /** The admin that owns it says that the node has no session there: who waits is told. */
  refuse(node: NodeId): void {
    this.#asked.refuse(node);
  }

  /** The node has a new session here. */
  welcomed(node: NodeId): void {
    this.#asked.welcomed(node);
  }

  /** Whose tunnel a one-time token opens; null: nobody's. The token is spent by asking. */
  redeem(token: string): NodeId | null {
    return this.#asked.redeem(token);
  }

  /**
   * Takes over the bytes of a tunnel whose token was redeemed for this node. `open` gives them an intake that they are
   * handed on by. A tunnel that it has already stays for its streams; new ones take this, unless it was to come through
   * the VPN, came beside it, and there is one beside it already that gives signs of life: an agent has room for a few.
   */
  accept(node: NodeId, open: (intake: Intake) => Duplex, way: TunnelWay): void {
    this.#opened[way] += 1;
    const ofNode = this.#open.get(node) ?? new Set();
    const isSpare = way === 'url' && !this.#asked.isAwaited(node) && latestOf(ofNode, 'url')?.tunnel.isHeard === true;
    const { monotonicMs, log } = this.#ports;
    const quota = this.#shares.quotaOf(node, monotonicMs(), () =>
      log.warn({ node }, 'a tunnel was cut: its agent sent more frames than its share'),
    );
    const closed = (): void => {
      ofNode.delete(one);
      if (ofNode.size === 0 && this.#open.get(node) === ofNode) this.#open.delete(node);
    };
    const tunnel = new Tunnel(open, { monotonicMs, quota, closed });
    const one: OpenTunnel = { tunnel, way };
    ofNode.add(one);
    this.#open.set(node, ofNode);
    log.debug({ node, way }, 'a tunnel was opened');
    this.#asked.settle(node, tunnel);
    if (way === 'mesh' && this.#vpnAgain.has(node))
      this.#vpnAgain.set(node, { atMs: monotonicMs() + VPN_AGAIN_MS, nextWaitMs: VPN_AGAIN_MS });
    if (isSpare || this.#isClosing) tunnel.close();
  }

  /** The node was deleted or its credential revoked: whatever is open to it ends now (E5). */
  end(node: NodeId): void {
    this.#asked.settle(node, null);
    for (const { tunnel } of this.#open.get(node) ?? []) tunnel.destroy();
  }

  count(): number {
    return this.#all().length;
  }

  /** Those that have one, or were asked for one. */
  nodes(): readonly NodeId[] {
    return [...new Set([...this.#open.keys(), ...this.#asked.nodes()])];
  }

  /** Takes no new streams and ends all tunnels. Whoever has streams drains them first. */
  close(): void {
    this.#isClosing = true;
    this.#asked.refuseAll();
    for (const tunnel of this.#all()) tunnel.destroy();
  }

  /**
   * One that is being closed because nobody used it waits for its agent to say goodbye too: whoever comes meanwhile
   * gets another. So does who comes while nothing goes through the VPN: a tunnel there may go on later, or is found to
   * be dead.
   */
  #latest(node: NodeId): OpenTunnel | undefined {
    const ofNode = this.#open.get(node) ?? [];
    const inVpn = latestOf(ofNode, 'mesh');
    return inVpn !== undefined && this.#ports.vpnUrl(node) !== null ? inVpn : latestOf(ofNode, 'url');
  }

  /**
   * The VPN came up after the tunnel: there is one through it for the streams that follow. Where that comes to
   * nothing, not for a while, and for a longer one each time that it does.
   */
  #askForVpn(node: NodeId): void {
    const nowMs = this.#ports.monotonicMs();
    const before = this.#vpnAgain.get(node);
    if (this.#asked.has(node) || nowMs < (before?.atMs ?? -Infinity) || this.#ports.vpnUrl(node) === null) return;
    const waitMs = before?.nextWaitMs ?? VPN_AGAIN_MS;
    this.#vpnAgain.set(node, { atMs: nowMs + waitMs, nextWaitMs: Math.min(waitMs * 2, VPN_AGAIN_MS_MAX) });
    this.#asked.ask(node);
  }

  #sweep(): void {
    const nowMs = this.#ports.monotonicMs();
    for (const [node, { atMs }] of this.#vpnAgain)
      if (atMs <= nowMs && this.#latest(node)?.way !== 'url') this.#vpnAgain.delete(node);
    this.#shares.sweep(nowMs, (node) => this.#open.has(node));
    for (const tunnel of this.#all()) {
      if (tunnel.idleMs(nowMs) >= TUNNEL_IDLE_MS) tunnel.close();
      else tunnel.beat(nowMs);
    }
    if (!this.#isClosing) this.#ports.clock.after(TUNNEL_SWEEP_MS, () => this.#sweep());
  }

  #all(): readonly Tunnel[] {
    return [...this.#open.values()].flatMap((ofNode) => [...ofNode].map(({ tunnel }) => tunnel));
  }
}

/** The newest of these that came by this way and takes streams. */
function latestOf(ofNode: Iterable<OpenTunnel>, way: TunnelWay): OpenTunnel | undefined {
  return [...ofNode].findLast((one) => one.way === way && one.tunnel.isOpen);
}
