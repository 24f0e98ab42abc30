/**
 * Tunnels to nodes: asked for over the control session when somebody wants in, opened by the agent, closed when nobody
 * uses them.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../net/log.ts';
import type { AdminFrameBody } from '../protocol/frames.ts';
import type { NodeId } from '../protocol/ids.ts';
import { TUNNEL_IDLE_MS, TUNNEL_OPEN_MS_MAX } from '../protocol/limits.ts';
import { notDialled } from '../net/streams/dialled.ts';
import type { Dialled } from '../net/streams/dialled.ts';
import type { Duplex } from 'node:stream';
import { VPN_AGAIN_MS, TUNNEL_SWEEP_MS, WAITING_FOR_TUNNEL_MAX } from './limits.ts';
import { runTunnel } from './tunnel.ts';
import type { Tunnel, TunnelTarget } from './tunnel.ts';

/** What tunnels need. */
export interface TunnelPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Never goes back, in ms. */
  readonly monotonicMs: () => number;
  /** To the live session of a node. False: it has none here, or its agent is too old. */
  send(node: NodeId, frame: AdminFrameBody): boolean;
  /**
   * Has the admin that owns the node's cluster ask its agent for a tunnel to this one. False: there is no such other
   * admin. Never rejects.
   */
  askOwner(node: NodeId, token: string): Promise<boolean>;
  /** Where the agent of a node reaches this admin through the VPN; null: not at all, or not now. */
  vpnUrl(node: NodeId): string | null;
}

/** How a tunnel came in: through the VPN, or to the URL that its agent knows of the admin. */
export const TUNNEL_WAYS = ['mesh', 'url'] as const;
export type TunnelWay = (typeof TUNNEL_WAYS)[number];

/** What happened so far, for metrics. */
export interface TunnelCounters {
  asked: number;
  readonly opened: Record<TunnelWay, number>;
  /** Tokens that nobody waits for: used, expired or made up. */
  strangers: number;
}

/** The tunnels of this admin. */
export interface Tunnels {
  /**
   * The one way to a byte stream at a node. Opens its tunnel if there is none; connected when it resolves. Never
   * rejects.
   */
  reach(node: NodeId, target: TunnelTarget, signal: AbortSignal): Promise<Dialled>;
  /** The admin that owns it says that the node has no session there: who waits is told. */
  refuse(node: NodeId): void;
  /** Whose tunnel a one-time token opens; null: nobody's. The token is spent by asking. */
  redeem(token: string): NodeId | null;
  /**
   * Takes over the bytes of a tunnel whose token was redeemed for this node. A tunnel that it has already stays for its
   * streams; new ones take this.
   */
  accept(node: NodeId, bytes: Duplex, way: TunnelWay): void;
  /** The node was deleted or its credential revoked: whatever is open to it ends now (E5). */
  end(node: NodeId): void;
  count(): number;
  /** Those that have one. */
  nodes(): readonly NodeId[];
  readonly counters: Readonly<TunnelCounters>;
  /** Takes no new streams and ends all tunnels. Whoever has streams drains them first. */
  close(): void;
}

/** A tunnel, and how it came in. */
interface OpenTunnel {
  readonly tunnel: Tunnel;
  readonly way: TunnelWay;
}

interface Asked {
  readonly tokenKey: string;
  /** Streams that wait for it. */
  readonly waiting: Set<(tunnel: Tunnel | null) => void>;
  readonly cancelTimer: () => void;
}

/** No tunnels at first. */
export function createTunnels(ports: TunnelPorts): Tunnels {
  const { clock, log, monotonicMs } = ports;
  /** All that are open; the last of a node takes new streams. */
  const open = new Map<NodeId, Set<OpenTunnel>>();
  const asked = new Map<NodeId, Asked>();
  const tokens = new Map<string, NodeId>();
  /** From when on a tunnel through the VPN is asked for again. */
  const vpnAtMs = new Map<NodeId, number>();
  const counters: TunnelCounters = { asked: 0, opened: { mesh: 0, url: 0 }, strangers: 0 };
  let isClosing = false;
  clock.after(TUNNEL_SWEEP_MS, sweep);

  async function reach(node: NodeId, target: TunnelTarget, signal: AbortSignal): Promise<Dialled> {
    if (isClosing) return notDialled('overloaded', 'This admin is shutting down: try again shortly.');
    const present = latest(node);
    if (present !== undefined) {
      if (present.way === 'url') askForVpn(node);
      return present.tunnel.open(target, signal);
    }
    const tunnel = await opened(node, signal);
    return 'ok' in tunnel ? tunnel : tunnel.open(target, signal);
  }

  /**
   * One that is being closed because nobody used it waits for its agent to say goodbye too: whoever comes meanwhile
   * gets another. So does who comes while nothing goes through the VPN: a tunnel there may go on later, or is found to
   * be dead.
   */
  function latest(node: NodeId): OpenTunnel | undefined {
    const all = [...(open.get(node) ?? [])].filter(({ tunnel }) => tunnel.isOpen);
    const inVpn = all.findLast(({ way }) => way === 'mesh');
    return inVpn !== undefined && ports.vpnUrl(node) !== null ? inVpn : all.findLast(({ way }) => way === 'url');
  }

  /**
   * The VPN came up after the tunnel: there is one through it for the streams that follow. Where that comes to
   * nothing, not for a while.
   */
  function askForVpn(node: NodeId): void {
    const nowMs = monotonicMs();
    if (asked.has(node) || nowMs < (vpnAtMs.get(node) ?? -Infinity) || ports.vpnUrl(node) === null) return;
    vpnAtMs.set(node, nowMs + VPN_AGAIN_MS);
    ask(node);
  }

  /** Asks the agent, once for all who wait. */
  function opened(node: NodeId, signal: AbortSignal): Promise<Tunnel | Extract<Dialled, { ok: false }>> {
    const request = asked.get(node) ?? ask(node);
    if (request.waiting.size >= WAITING_FOR_TUNNEL_MAX)
      return Promise.resolve(refusal('overloaded', 'Too many connections wait for this machine: try again shortly.'));
    const { promise, resolve } = Promise.withResolvers<Tunnel | Extract<Dialled, { ok: false }>>();
    const done = (tunnel: Tunnel | null): void => {
      request.waiting.delete(done);
      signal.removeEventListener('abort', giveUp);
      resolve(
        tunnel ??
          refusal('offline', 'The machine is not connected, or does not answer: see its status, or try again shortly.'),
      );
    };
    const giveUp = (): void => done(null);
    request.waiting.add(done);
    signal.addEventListener('abort', giveUp, { once: true });
    return promise;
  }

  function ask(node: NodeId): Asked {
    const token = randomBytes(32).toString('base64url');
    counters.asked += 1;
    const request: Asked = {
      tokenKey: keyOf(token),
      waiting: new Set(),
      cancelTimer: clock.after(TUNNEL_OPEN_MS_MAX, () => settle(node, null)),
    };
    tokens.set(request.tokenKey, node);
    asked.set(node, request);
    const vpnUrl = ports.vpnUrl(node);
    if (!ports.send(node, { type: 'open-tunnel', token, ...(vpnUrl !== null && { mesh_url: vpnUrl }) }))
      void askOwner(node, token, request);
    return request;
  }

  async function askOwner(node: NodeId, token: string, request: Asked): Promise<void> {
    const isAsked = await ports.askOwner(node, token);
    if (!isAsked && asked.get(node) === request) settle(node, null);
  }

  function settle(node: NodeId, tunnel: Tunnel | null): void {
    const request = asked.get(node);
    if (request === undefined) return;
    asked.delete(node);
    tokens.delete(request.tokenKey);
    request.cancelTimer();
    for (const done of request.waiting) done(tunnel);
  }

  function redeem(token: string): NodeId | null {
    const key = keyOf(token);
    const node = tokens.get(key) ?? null;
    tokens.delete(key);
    if (node === null) counters.strangers += 1;
    return node;
  }

  function accept(node: NodeId, bytes: Duplex, way: TunnelWay): void {
    counters.opened[way] += 1;
    const of = open.get(node) ?? new Set();
    const tunnel: Tunnel = runTunnel(bytes, monotonicMs, () => {
      of.delete(one);
      if (of.size === 0 && open.get(node) === of) open.delete(node);
    });
    const one: OpenTunnel = { tunnel, way };
    of.add(one);
    open.set(node, of);
    log.debug({ node, way }, 'a tunnel was opened');
    settle(node, tunnel);
    if (isClosing) tunnel.close();
  }

  function sweep(): void {
    const nowMs = monotonicMs();
    for (const [node, atMs] of vpnAtMs) if (atMs <= nowMs) vpnAtMs.delete(node);
    for (const of of open.values()) {
      for (const { tunnel } of of) {
        if (tunnel.idleMs(nowMs) >= TUNNEL_IDLE_MS) tunnel.close();
        else tunnel.beat(nowMs);
      }
    }
    if (!isClosing) clock.after(TUNNEL_SWEEP_MS, sweep);
  }

  function all(): readonly Tunnel[] {
    return [...open.values()].flatMap((of) => [...of].map(({ tunnel }) => tunnel));
  }

  return {
    reach,
    redeem,
    accept,
    counters,
    refuse: (node) => settle(node, null),
    end(node) {
      settle(node, null);
      for (const { tunnel } of open.get(node) ?? []) tunnel.destroy();
    },
    count: () => all().length,
    nodes: () => [...open.keys()],
    close() {
      isClosing = true;
      for (const node of asked.keys()) settle(node, null);
      for (const tunnel of all()) tunnel.destroy();
    },
  };
}

/** Tokens are looked up by their hash: how long that takes tells nothing of a token. */
function keyOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}

function refusal(failure: 'offline' | 'overloaded', message: string): Extract<Dialled, { ok: false }> {
  return { ok: false, failure, message };
}
