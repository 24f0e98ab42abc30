/** An admin's end of tunnels and an agent's, joined by a real WebSocket, with real targets behind the agent. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import net from 'node:net';
import type { Clock } from '../../../actors/ports.ts';
import type { Egress } from '../../../agent/access/egress/egress.ts';
import { AgentTunnels } from '../../../agent/access/tunnel/tunnels.ts';
import { systemClock } from '../../../transport/net/clock.ts';
import type { NodeId } from '../../../transport/protocol/ids.ts';
import { createTunnelGate } from '../../../transport/tunnels/gate.ts';
import { tagOf } from '../../../transport/tunnels/token.ts';
import { Tunnels } from '../../../transport/tunnels/tunnels.ts';
import { openListener } from '../../../transport/vpn/gateway/entrance.ts';
import { notDialled } from '../../../transport/net/streams/dialled.ts';
import type { Dialled } from '../../../transport/net/streams/dialled.ts';
import { Joins } from '../../../transport/net/streams/join.ts';
import { listening } from './listening.ts';
import { recordingLog, silentLog } from '../log.ts';
import type { Scope } from '../scope.ts';

/** The node of the fixture. */
export const NODE = '0190f5c2-7a11-4c3e-8f00-000000000001' as NodeId;

/** What a test may change. */
export interface FixtureOptions {
  readonly clock?: Clock & { readonly nowMs: () => number };
  /** Whether the agent opens what it is asked for. */
  readonly opens?: boolean;
  readonly isConnected?: () => boolean;
  /** Asks the admin at which the node has its session, if there is another one. */
  readonly askOwner?: (node: NodeId, token: string) => Promise<boolean>;
  /**
   * Whether there is a VPN, in which the admin has 127.0.0.2 and the agent 127.0.0.3; asked whenever somebody wants
   * in.
   */
  readonly isVpnUp?: () => boolean;
  /** Whether the agent knows tunnels without a WebSocket. */
  readonly isHttp2?: boolean;
  /** What the admin names as its own URL; nothing unless given. The agent has its session at the right one. */
  readonly ownUrl?: string | null;
  /** What the admin says is its place in the VPN, instead of its own. */
  readonly claimedVpnUrl?: string;
  /** The gateway, as the agent knows it. */
  readonly gateway?: string;
}

/** A running fixture. */
export interface Fixture {
  readonly tunnels: Tunnels;
  readonly agent: AgentTunnels;
  readonly url: string;
  /** Of the admin in the VPN. */
  readonly vpnUrl: string;
  /** One-time tokens, in the order in which they were sent. */
  readonly tokens: readonly string[];
  readonly reach: (port: number, signal?: AbortSignal) => Promise<Dialled>;
}

/** Starts one that ends with the scope. */
export async function tunnelsFixture(
  scope: Scope,
  {
    clock = systemClock,
    opens = true,
    isConnected = () => true,
    askOwner = () => Promise.resolve(false),
    isVpnUp = () => false,
    isHttp2 = true,
    ownUrl = null,
    claimedVpnUrl,
    gateway = '127.0.0.2',
  }: FixtureOptions = {},
): Promise<Fixture> {
  const tokens: string[] = [];
  const joins = new Joins();
  const agent = new AgentTunnels({
    egress: plainEgress,
    join: (one, other) => joins.join(one, other),
    log: silentLog,
    vpnWay: () => ({ gateway, own: '127.0.0.3' }),
  });
  const tunnels = new Tunnels({
    clock,
    log: recordingLog(),
    monotonicMs: () => clock.nowMs(),
    send(_node, frame) {
      if (!isConnected() || frame.type !== 'open-tunnel') return false;
      tokens.push(frame.token);
      const { token, admin_url: named, mesh_url: vpnUrl, http2 } = frame;
      if (opens)
        agent.open(named === undefined ? [url] : [named, url], token, { vpnUrl, isHttp2: isHttp2 && http2 === true });
      return true;
    },
    askOwner,
    tag: tagOf(NODE),
    ownUrl: () => ownUrl,
    vpnUrl: () => (isVpnUp() ? (claimedVpnUrl ?? listener.url) : null),
  });
  const listener = required(await openListener('127.0.0.2', createTunnelGate(tunnels, 'mesh')));
  const server = createServer();
  server.on('upgrade', createTunnelGate(tunnels, 'url'));
  const url = `http://127.0.0.1:${await listening(scope, server)}`;
  scope.teardown(() => {
    agent.close();
    tunnels.close();
    listener.close();
  });
  return {
    tunnels,
    agent,
    url,
    vpnUrl: listener.url,
    tokens,
    reach: (port, signal = new AbortController().signal) =>
      tunnels.reach(NODE, { use: 'self', host: 'localhost', port }, signal),
  };
}

function required<T>(one: T | null): T {
  if (one === null) throw new Error('no listener');
  return one;
}

const plainEgress: Egress = {
  async dial({ port }) {
    const socket = net.connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    try {
      await once(socket, 'connect');
      return { ok: true, stream: socket };
    } catch {
      return notDialled('refused', `nobody listens on port ${port} — niemand`);
    }
  },
};
