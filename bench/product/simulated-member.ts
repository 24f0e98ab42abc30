/**
 * One simulated member of a VPN: the real agent's session, and of the VPN that it is told the keys alone, so that
 * fifty thousand fit in memory.
 */
import { createHash } from 'node:crypto';
import { webSocketDial } from '../../agent/session/dial.ts';
import type { Dial, AdminVpnFrame, SessionJournal, SessionRunner } from '../../agent/session/ports.ts';
import { Session } from '../../agent/session/session.ts';
import { NodeId } from '../../transport/protocol/ids.ts';
import type { VpnRevision } from '../../transport/protocol/vpn.ts';
import { nodeId, nodeToken } from '../fleet/nodes.ts';
import { REGISTRATION, systemClock } from './simulated-agent.ts';

/** What was received of the VPN. */
export interface VpnCounts {
  frames: number;
  bytes: number;
  wholes: number;
}

/** One member. */
export interface SimulatedMember {
  readonly session: Session;
  /** Keys of all others, as it was told last. */
  readonly peers: ReadonlySet<string>;
}

/** What a frame about the VPN has near its beginning. */
const VPN_FRAME = /^\{"seq":\d+,"type":"mesh-/u;

const EMPTY: SessionJournal = {
  holding: () => [],
  finished: () => [],
  result: () => null,
  output: () => null,
  recall: () => [],
  forget() {},
  heal: () => true,
};
const IDLE: SessionRunner = {
  receive: () => ({ acknowledged: [], fresh: [] }),
  run() {},
  cancel() {},
  settle() {},
  tail: () => null,
};
const quiet = {
  debug() {},
  info() {},
  warn() {},
  error: (_fields: object, message: string) => {
    console.error(message);
  },
};
const dialWebSocket = webSocketDial();

/** Key of that member: 32 bytes in base64, which is all that anybody looks at. */
export function memberKey(index: number): string {
  return createHash('sha256').update(`bench-member-${index}`).digest('base64');
}

/**
 * Member of node `index` at an admin; it dials when its session is started. `learned` is called at each change of what
 * it knows.
 */
export function simulatedMember(url: string, index: number, counts: VpnCounts, learned: () => void): SimulatedMember {
  const peers = new Set<string>();
  let revision: VpnRevision | null = null;
  const advertise = (): void =>
    void session.say({
      type: 'mesh-advertise',
      advertisement: {
        public_key: memberKey(index),
        listen_port: 30_000,
        endpoints: [`192.168.${Math.floor(index / 250) % 250}.${index % 250}:30000`],
        relay_region: null,
        revision,
      },
    });
  const told = (order: AdminVpnFrame): void => {
    if (order.type === 'mesh-network') {
      counts.wholes += 1;
      peers.clear();
      for (const peer of order.peers) peers.add(peer.public_key);
      revision = order.revision;
    } else if (order.type === 'mesh-changed') {
      if (revision?.epoch !== order.from.epoch || revision.number !== order.from.number) return advertise();
      for (const key of order.removed) peers.delete(key);
      for (const peer of order.set) peers.add(peer.public_key);
      revision = order.to;
    } else {
      return;
    }
    learned();
  };
  const dial: Dial = (adminUrl, token, owner) =>
    dialWebSocket(adminUrl, token, {
      opened: (link) => owner.opened(link),
      message: (link, text) => {
        if (VPN_FRAME.test(text.slice(0, 64))) {
          counts.frames += 1;
          counts.bytes += text.length;
        }
        owner.message(link, text);
      },
      closed: (link, code, reason) => owner.closed(link, code, reason),
    });
  const session: Session = new Session(
    {
      node: NodeId.parse(nodeId(index)),
      token: nodeToken(index),
      registration: REGISTRATION,
      adminUrls: () => [url],
      listedCount: () => 1,
      onLive: advertise,
    },
    {
      journal: EMPTY,
      runner: IDLE,
      vpn: { told },
      report: () => ({ services: [] }),
      dial,
      clock: systemClock,
      random: Math.random,
      log: quiet,
    },
  );
  return { session, peers };
}
