/** Tunnels that agents were asked for and that are not there yet: their one-time tokens, and who waits for them. */
import { createHash } from 'node:crypto';
import type { Clock } from '../../actors/ports.ts';
import type { Dialled } from '../net/streams/dialled.ts';
import type { AdminFrameBody } from '../protocol/frames.ts';
import type { NodeId } from '../protocol/ids.ts';
import { TUNNEL_OPEN_MS_MAX } from '../protocol/limits.ts';
import { WAITING_FOR_TUNNEL_MAX } from './limits.ts';
import { newToken } from './token.ts';
import type { Tunnel } from './tunnel.ts';

/** By which agents are asked. */
export interface TunnelAsking {
  readonly clock: Clock;
  /** What stands for this admin in tokens. */
  readonly tag: string;
  /** To the live session of a node. False: it has none here, or its agent is too old. */
  send(node: NodeId, frame: AdminFrameBody): boolean;
  /**
   * Has the admin that owns the node's cluster ask its agent for a tunnel to this one. False: there is no such other
   * admin. Never rejects.
   */
  askOwner(node: NodeId, token: string): Promise<boolean>;
  /**
   * The URL of this admin alone, for an agent that tries the URL of its session where it does not get there. Null: it
   * is to take that one at once.
   */
  ownUrl(node: NodeId): string | null;
  /** Where the agent of a node reaches this admin through the VPN; null: not at all, or not now. */
  vpnUrl(node: NodeId): string | null;
}

/** No tunnel, and why. */
type NoTunnel = Extract<Dialled, { readonly ok: false }>;

/** One tunnel that was asked for. */
interface Asked {
  readonly token: string;
  readonly tokenKey: string;
  /** Streams that wait for it. */
  readonly waiting: Set<(tunnel: Tunnel | null) => void>;
  readonly cancelTimer: () => void;
  /** Its agent was asked by its session here: what others know of it decides nothing then. */
  isSent: boolean;
}

/** At most one tunnel a node. None at first. */
export class AskedTunnels {
  readonly #asking: TunnelAsking;
  readonly #asked = new Map<NodeId, Asked>();
  /** By the keys of their tokens. */
  readonly #nodes = new Map<string, NodeId>();

  constructor(asking: TunnelAsking) {
    this.#asking = asking;
  }

  /** Whether a tunnel of this node was asked for and is not there yet. */
  has(node: NodeId): boolean {
    return this.#asked.has(node);
  }

  /** Whether streams wait for it, too. */
  isAwaited(node: NodeId): boolean {
    return (this.#asked.get(node)?.waiting.size ?? 0) > 0;
  }

  /** Those that are asked. */
  nodes(): Iterable<NodeId> {
    return this.#asked.keys();
  }

  /** Waits for the tunnel of a node; asks the agent, once for all who wait. Never rejects; aborting gives up. */
  wait(node: NodeId, signal: AbortSignal): Promise<Tunnel | NoTunnel> {
    const { waiting } = this.#asked.get(node) ?? this.ask(node);
    if (waiting.size >= WAITING_FOR_TUNNEL_MAX) return Promise.resolve(CROWDED);
    const { promise, resolve } = Promise.withResolvers<Tunnel | NoTunnel>();
    const done = (tunnel: Tunnel | null): void => {
      waiting.delete(done);
      signal.removeEventListener('abort', giveUp);
      resolve(tunnel ?? OFFLINE);
    };
    const giveUp = (): void => done(null);
    waiting.add(done);
    signal.addEventListener('abort', giveUp, { once: true });
    return promise;
  }

  /** Asks the agent of a node, by its session here or by the admin that owns it. */
  ask(node: NodeId): Asked {
    const token = newToken(this.#asking.tag);
    const asked: Asked = {
      token,
      tokenKey: keyOf(token),
      waiting: new Set(),
      cancelTimer: this.#asking.clock.after(TUNNEL_OPEN_MS_MAX, () => this.settle(node, null)),
      isSent: false,
    };
    this.#nodes.set(asked.tokenKey, node);
    this.#asked.set(node, asked);
    if (!this.#send(node, asked)) void this.#askOwner(node, asked);
    return asked;
  }

  /**
   * The node has a new session here: what was asked on the one before may not have come. An agent that has come already
   * is asked nothing.
   */
  welcomed(node: NodeId): void {
    const asked = this.#asked.get(node);
    if (asked !== undefined && this.#nodes.has(asked.tokenKey)) this.#send(node, asked);
  }

  /** Whose tunnel a one-time token opens; null: nobody's. The token is spent by asking. */
  redeem(token: string): NodeId | null {
    const key = keyOf(token);
    const node = this.#nodes.get(key) ?? null;
    this.#nodes.delete(key);
    return node;
  }

  /** The tunnel is there; null: it will not come. Who waits is told, if anybody does. */
  settle(node: NodeId, tunnel: Tunnel | null): void {
    const asked = this.#asked.get(node);
    if (asked === undefined) return;
    this.#asked.delete(node);
    this.#nodes.delete(asked.tokenKey);
    asked.cancelTimer();
    for (const done of asked.waiting) done(tunnel);
  }

  /** Nobody has a session of the node, as others know: who waits is told, unless its agent has come here meanwhile. */
  refuse(node: NodeId): void {
    if (this.#asked.get(node)?.isSent === false) this.settle(node, null);
  }

  /** None of them will come. */
  refuseAll(): void {
    for (const node of this.#asked.keys()) this.settle(node, null);
  }

  #send(node: NodeId, asked: Asked): boolean {
    const [ownUrl, vpnUrl] = [this.#asking.ownUrl(node), this.#asking.vpnUrl(node)];
    const isSent = this.#asking.send(node, {
      type: 'open-tunnel',
      token: asked.token,
      http2: true,
      ...(ownUrl !== null && { admin_url: ownUrl }),
      ...(vpnUrl !== null && { mesh_url: vpnUrl }),
    });
    asked.isSent ||= isSent;
    return isSent;
  }

  async #askOwner(node: NodeId, asked: Asked): Promise<void> {
    const isAsked = await this.#asking.askOwner(node, asked.token);
    if (!isAsked && this.#asked.get(node) === asked) this.refuse(node);
  }
}

const CROWDED: NoTunnel = {
  ok: false,
  failure: 'overloaded',
  message: 'Too many connections wait for this machine: try again shortly.',
};

const OFFLINE: NoTunnel = {
  ok: false,
  failure: 'offline',
  message: 'The machine is not connected, or does not answer: see its status, or try again shortly.',
};

/** Tokens are looked up by their hash: how long that takes tells nothing of a token. */
function keyOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
