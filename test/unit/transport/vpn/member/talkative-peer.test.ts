/** A member whose peers say much to it over a real relay, on an interface that does nothing. */
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import type { VpnPeer } from '../../../../../transport/protocol/vpn.ts';
import { memberOn } from '../../../../../transport/vpn/member/create-member.ts';
import { MESSAGES_MS } from '../../../../../transport/vpn/member/limits.ts';
import { decodePeerMessage, encodePeerMessage } from '../../../../../transport/vpn/member/peer-messages.ts';
import type { WireguardDevice } from '../../../../../transport/vpn/wireguard/device.ts';
import { makeKeyPair } from '../../../../../transport/vpn/wireguard/keys.ts';
import type { Scope } from '../../../../support/scope.ts';
import { until } from '../../../../support/until.ts';
import { connectedClient, startRelay, type RelayClient } from '../../../../support/vpn/relay.ts';

const ASK = encodePeerMessage({ type: 'ask' });

/** Turns that are due whatever peers say: readings, and what paths have to do. */
const OTHER_TURNS = 10;

/** Takes everything, and hears of no peer. */
const IDLE = {
  backend: 'user-space',
  setPrivateKey: async () => {},
  setAddresses: async () => {},
  setMtu: async () => {},
  setPathMtus: async () => new Set(),
  readRooms: async () => new Map(),
  apply: async () => {},
  setEndpoints: async () => {},
  read: async () => [],
  refusals: () => ({ peers: new Map(), addresses: new Map() }),
  onLost: () => {},
  release: async () => {},
  remove: async () => {},
} as unknown as WireguardDevice;

const peer = ({ publicKey }: RelayClient, index: number): VpnPeer => ({
  node: null,
  public_key: publicKey,
  ipv4: `100.64.0.${index}`,
  ipv6: `fd00::${index}`,
  endpoints: [],
  relay_region: 900,
  aliases: [],
});

/** A member that two peers reach by a relay, and how many turns its loop has had. */
async function open(t: Scope) {
  const { map, region } = await startRelay(t);
  const clients = [
    await connectedClient(t, region, { isHome: true }),
    await connectedClient(t, region, { isHome: true }),
  ] as const;
  const { privateKey, publicKey } = makeKeyPair();
  const peers = new Map(clients.map((client, index) => [client.publicKey, peer(client, index + 2)]));
  let turns = 0;
  const member = await memberOn(
    IDLE,
    {
      interfaceName: 'edge00000000',
      listenPort: 51_820,
      wanted: { privateKey, addresses: [], mtu: 1_280, peers, observers: [], relayMap: map },
      interfaces: () => ({}),
    },
    {
      wantsTry: () => {},
      // nobody hears it, so that each turn says it again
      moved: () => {
        turns += 1;
        return false;
      },
      changed: () => {},
    },
  );
  t.teardown(() => member.close({ isKept: false }));
  await until('the peers', () => member.paths().length === 2 && member.place().relayRegion === 900);
  const [talkative, other] = clients;
  const ask = (client: RelayClient): void => void client.connection.send(publicKey, ASK);
  return { member, talkative, other, ask, turns: () => turns };
}

/** Turns that `say`, once a millisecond until it is over, and a thousand times at least, is the reason for. */
async function flood(turns: () => number, say: () => void, isOver = (): boolean => true): Promise<string | null> {
  const [before, beganMs] = [turns(), performance.now()];
  for (let times = 0; times < 1_000 || !isOver(); times += 1) {
    say();
    await delay(1);
  }
  const [made, tookMs] = [turns() - before, performance.now() - beganMs];
  return made <= tookMs / MESSAGES_MS + OTHER_TURNS ? null : `${made} turns in ${tookMs} ms`;
}

test('a peer that asks without end costs few turns, and another that asks meanwhile is answered', async (t) => {
  const { talkative, other, ask, turns } = await open(t);
  const isAnswered = (): boolean => other.packets.some(({ packet }) => decodePeerMessage(packet)?.type === 'agreed');
  ask(other);

  t.is(await flood(turns, () => ask(talkative), isAnswered), null);
});

test('tries that an admin asks for without end cost few turns', async (t) => {
  const { member, talkative, turns } = await open(t);

  t.is(await flood(turns, () => member.tryDirect(talkative.publicKey, 60_000)), null);
});
