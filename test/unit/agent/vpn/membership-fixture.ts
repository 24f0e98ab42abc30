/** An agent with a member that notes what it is to become. */
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { storedPublicKey } from '../../../../agent/vpn/keys-file.ts';
import { Membership } from '../../../../agent/vpn/membership.ts';
import type { NetworkMap } from '../../../../agent/vpn/network-map.ts';
import type { AdminVpnFrame, AgentVpnFrameBody } from '../../../../agent/session/ports.ts';
import {
  NOTHING_REFUSED,
  type MemberPlace,
  type MemberPorts,
  type PeerPath,
  type WantedMember,
} from '../../../../transport/vpn/member/member.ts';
import type { VpnPeer, VpnSettings } from '../../../../transport/protocol/vpn.ts';
import { NodeId } from '../../../../transport/protocol/ids.ts';
import { until } from '../../../support/until.ts';
import { recordingLog } from '../../../support/log.ts';
import { createFakeClock, type FakeClock } from '../../../support/fake-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** The URL of the admin. */
export const ADMIN = 'http://192.0.2.1:44000';

/** A peer that the admin tells. */
export const PEER: VpnPeer = {
  node: NodeId.parse('6f2c6a52-8d2b-4a3e-9f54-0d6c1f3f7a01'),
  public_key: 'zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMw=',
  ipv4: '100.64.0.3',
  ipv6: 'fd00::3',
  endpoints: [],
  relay_region: null,
  aliases: ['web'],
};

/** The gateway as the admin tells it. */
export const GATEWAY: VpnPeer = {
  ...PEER,
  node: null,
  public_key: '3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d0=',
  ipv4: '100.64.0.1',
  ipv6: 'fd00::1',
  aliases: [],
};

/** The settings of an admin that has a VPN. */
export const EMBEDDED: VpnSettings = {
  mode: 'embedded',
  observers: [{ host: null, port: 43_478, public_key: GATEWAY.public_key }],
};

/** Where the member is. */
export const PLACE: MemberPlace = { listenPort: 51_820, endpoints: ['192.168.1.20:51820'], relayRegion: 900 };

/** A membership, and what came of it. */
export interface Fixture {
  readonly membership: Membership;
  readonly clock: FakeClock;
  readonly said: AgentVpnFrameBody[];
  /** What the member was to become, one after another. */
  readonly wanted: WantedMember[];
  readonly named: (NetworkMap | null)[];
  readonly ends: { readonly isKept: boolean }[];
  readonly keysPath: string;
  readonly log: ReturnType<typeof recordingLog>;
  ports(): MemberPorts;
  publicKey(): string;
  /** Tells it the whole VPN, for its own key unless another is given. */
  joins(number: number, peers?: readonly VpnPeer[], publicKey?: string): void;
  /** Tells it the change to this number from the one before it. */
  changes(number: number, set?: readonly VpnPeer[], removed?: readonly string[]): void;
  /** The keys of the peers that the member has, or is to have. */
  peers(): readonly string[];
  /** How often its paths were looked at. */
  looks(): number;
}

/**
 * A membership whose member notes what it is to become, and then says where it is until it was heard once. `problem`:
 * this machine can have none; `fault`: making one throws. `opened`: when its interface is there; `ends`: how it goes;
 * `isHeard`: whether an admin is there.
 */
export function open(
  t: ExecutionContext,
  {
    directory = temporaryDirectory(t),
    problem = null as string | null,
    fault = null as Error | null,
    paths = [] as readonly PeerPath[],
    clusterName = (): string => 'prod',
    opened = Promise.resolve(),
    ends: closes = () => Promise.resolve(),
    isHeard = (): boolean => true,
  } = {},
): Fixture {
  const clock = createFakeClock(1_000);
  const [said, wanted, named, ends] = [
    [] as AgentVpnFrameBody[],
    [] as WantedMember[],
    [] as (NetworkMap | null)[],
    [] as { readonly isKept: boolean }[],
  ];
  let ports: MemberPorts | null = null;
  let looks = 0;
  const keysPath = join(directory, 'mesh-keys.json');
  const log = recordingLog();
  const membership = new Membership({
    interfaceName: 'edge00000000',
    port: 0,
    hasMtuDiscovery: true,
    keysPath,
    networkMapPath: join(directory, 'mesh-network.json'),
    clusterName,
    clock,
    log,
    say: (word) => {
      if (!isHeard()) return false;
      said.push(word);
      return true;
    },
    named: (networkMap) => {
      named.push(networkMap);
    },
    createMember: async (options, given) => {
      await opened;
      if (fault !== null) throw fault;
      if (problem !== null) return { ok: false, problem };
      ports = given;
      wanted.push(options.wanted);
      let isPlaceTold = false;
      return {
        ok: true,
        member: {
          become: (next) => {
            wanted.push(next);
            queueMicrotask(() => {
              isPlaceTold ||= given.moved(PLACE);
            });
          },
          tryDirect: (key, inMs) => {
            named.push(null);
            said.push({ type: 'mesh-try', public_key: `${key} in ${inMs}` });
          },
          paths: () => {
            looks += 1;
            return paths;
          },
          place: () => PLACE,
          backend: () => 'user-space',
          refused: () => NOTHING_REFUSED,
          problem: () => null,
          close: (end) => {
            ends.push(end);
            return closes();
          },
        },
      };
    },
  });
  const publicKey = () => storedPublicKey(keysPath) ?? '';
  return {
    membership,
    clock,
    said,
    wanted,
    named,
    ends,
    keysPath,
    log,
    publicKey,
    joins: (number, peers, key = publicKey()) => membership.session.told(network(key, number, peers)),
    changes: (number, set = [], removed = []) =>
      membership.session.told({
        seq: number,
        type: 'mesh-changed',
        from: { epoch: 1, number: number - 1 },
        to: { epoch: 1, number },
        set: [...set],
        removed: [...removed],
      }),
    peers: () => [...(wanted.at(-1)?.peers.keys() ?? [])],
    looks: () => looks,
    ports: () => {
      if (ports === null) throw new Error('there is no member');
      return ports;
    },
  };
}

/** The frame that tells an agent its whole VPN. */
function network(
  publicKey: string,
  number: number,
  peers: readonly VpnPeer[] = [PEER, GATEWAY],
): Extract<AdminVpnFrame, { type: 'mesh-network' }> {
  return {
    seq: 1,
    type: 'mesh-network',
    revision: { epoch: 1, number },
    network: {
      cluster_name: 'prod',
      domain: 'prod.edge.test',
      public_key: publicKey,
      ipv4: '100.64.0.2',
      ipv6: 'fd00::2',
      ipv4_range: '100.64.0.0/24',
      ipv6_range: 'fd00::/64',
      mtu: 1_280,
      aliases: [],
    },
    peers: [...peers],
  };
}

/** The agent once it was welcomed, and said where it is. */
export async function welcomed(fixture: Fixture): Promise<void> {
  fixture.membership.configured(EMBEDDED, ADMIN);
  await until('an advertisement', () => fixture.said.length > 0);
}
