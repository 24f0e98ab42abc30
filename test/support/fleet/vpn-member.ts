/**
 * A node in the VPN of its cluster without an interface: the session and the membership of the real agent, and a
 * device that only remembers what it should be.
 */
import { randomInt } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../bench/product/simulated-agent.ts';
import { webSocketDial } from '../../../agent/session/dial.ts';
import { Membership } from '../../../agent/vpn/membership.ts';
import type { NetworkMap } from '../../../agent/vpn/network-map.ts';
import type { Link, SessionJournal, SessionRunner } from '../../../agent/session/ports.ts';
import { Session } from '../../../agent/session/session.ts';
import { NOTHING_REFUSED, type MemberPorts, type WantedMember } from '../../../transport/vpn/member/member.ts';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import type { AgentSettings } from '../../../transport/protocol/agent-settings.ts';
import type { Scope } from '../scope.ts';
import { enrollment } from './raw-agent.ts';
import { silentLog } from '../log.ts';

/** One such node. */
export interface VpnMember {
  readonly node: string;
  readonly session: Session;
  /** What its interface would be now; null before it has one. */
  readonly wanted: WantedMember | null;
  /** Every state of the VPN that it held, in order. */
  readonly networkMaps: readonly NetworkMap[];
  /** Says that it is reached at this place from now on, of its own VPN. */
  move(endpoint: string): void;
  /** Makes a new key and says so. */
  rotate(): void;
  /** Its connection breaks without a word; it connects again. */
  cut(): void;
  stop(): void;
}

/** Nothing was ever run there. */
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

/** Starts one that is enrolled. It ends with the scope; its files are below `directory`. */
export function startVpnMember(
  scope: Scope,
  url: string,
  { node_id: node, api_token: token }: EnrollAnswer,
  directory: string,
): VpnMember {
  const own = join(directory, node);
  mkdirSync(own, { recursive: true });
  const networkMaps: NetworkMap[] = [];
  let settings: AgentSettings | null = null;
  let clusterName = '';
  let wanted: WantedMember | null = null;
  let ports: MemberPorts | null = null;
  let endpoints: readonly string[] = [`192.168.0.2:${randomInt(1_024, 65_536)}`];
  let link: Link | null = null;
  const place = { listenPort: randomInt(1_024, 65_536), relayRegion: null };
  const membership = new Membership({
    interfaceName: 'none',
    port: place.listenPort,
    hasMtuDiscovery: true,
    keysPath: join(own, 'keys.json'),
    networkMapPath: join(own, 'network-map.json'),
    clusterName: () => clusterName,
    clock: systemClock,
    log: silentLog,
    say: (word) => session.say(word),
    named: (networkMap) => {
      if (networkMap !== null && networkMaps.at(-1) !== networkMap) networkMaps.push(networkMap);
    },
    createMember: async (options, given) => {
      ports = given;
      wanted = options.wanted;
      const member = {
        become: (next: WantedMember) => {
          wanted = next;
        },
        tryDirect: () => {},
        paths: () => [],
        place: () => ({ ...place, endpoints }),
        backend: () => 'user-space' as const,
        problem: () => null,
        refused: () => NOTHING_REFUSED,
        close: async () => Promise.resolve(),
      };
      return Promise.resolve({ ok: true, member });
    },
  });
  const dial = webSocketDial();
  const session: Session = new Session(
    {
      node,
      token,
      registration: {
        version: '0.0.1',
        id_type: 'persistent',
        ports: enrollment('').ports,
        self_update_enabled: false,
      },
      adminUrls: () => [url],
      listedCount: () => 1,
      onSettings: (next, name) => {
        settings = next;
        clusterName = name ?? clusterName;
      },
      onLive: (admin) => membership.configured(settings?.mesh, admin),
    },
    {
      journal: EMPTY,
      runner: IDLE,
      vpn: membership.session,
      report: () => ({ services: [] }),
      clock: systemClock,
      random: () => Math.random() / 4,
      log: silentLog,
      dial: (...words) => (link = dial(...words)),
    },
  );
  const stop = (): void => {
    session.stop();
    void membership.close({ isKept: false });
  };
  scope.teardown(stop);
  session.start();
  return {
    node,
    session,
    networkMaps,
    get wanted() {
      return wanted;
    },
    move(endpoint) {
      endpoints = [endpoint];
      ports?.moved({ ...place, endpoints });
    },
    rotate: () => membership.rotate(),
    cut: () => link?.terminate(),
    stop,
  };
}
