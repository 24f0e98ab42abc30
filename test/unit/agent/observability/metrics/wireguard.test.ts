/** What a scrape of WireGuard's metrics makes of an interface with many peers. */
import { createServer } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { MACHINE_WIREGUARD, wireguardMetrics } from '../../../../../agent/observability/metrics/wireguard.ts';
import type { PeerPath } from '../../../../../transport/vpn/member/member.ts';
import { listeningAt } from '../../../../support/net/listening.ts';
import { seriesOf } from '../../../../support/observability/series.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { until } from '../../../../support/until.ts';
import { ADMIN, EMBEDDED, open, PEER } from '../../vpn/membership-fixture.ts';

/** The largest VPN of one cluster, without this machine. */
const PEERS = 511;

const bytesOf = (index: number): Buffer => Buffer.alloc(32, `${index} `);
const keyOf = (index: number): string => bytesOf(index).toString('base64');
const indexes = Array.from({ length: PEERS }, (_, index) => index);

/** The socket of an interface with these peers; its directory. */
async function interfaceWithPeers(t: ExecutionContext): Promise<string> {
  const sockets = temporaryDirectory(t);
  const answer = indexes.map((index) => `public_key=${bytesOf(index).toString('hex')}\ntx_bytes=${index}\n`).join('');
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(`${answer}errno=0\n\n`));
  });
  await listeningAt(t, server, join(sockets, 'edge0.sock'));
  return sockets;
}

test('a scrape looks at the paths of all peers once', async (t) => {
  const paths = indexes.map((index): PeerPath => ({
    publicKey: keyOf(index),
    path: 'relayed',
    relayRegion: 900,
    handshakeAgeMs: 1_000,
    mtu: 8_960,
    receivedBytes: 1,
    sentBytes: 1,
  }));
  const fixture = open(t, { paths });
  fixture.membership.configured(EMBEDDED, ADMIN);
  await until('the member', () => fixture.said.length > 0);
  fixture.joins(
    1,
    indexes.map((index) => ({ ...PEER, public_key: keyOf(index) })),
  );
  const before = fixture.looks();

  const text = await wireguardMetrics({
    ...MACHINE_WIREGUARD,
    sockets: await interfaceWithPeers(t),
    interfaces: temporaryDirectory(t),
    peers: () => fixture.membership.peers(),
  });

  t.is(fixture.looks() - before, 1);
  const series = Object.entries(seriesOf(text));
  for (const [metric, value] of [
    ['wireguard_peer_path', 1],
    ['wireguard_peer_mtu_bytes', 8_960],
  ] as const) {
    const ofPeers = series.filter(([name]) => name.startsWith(`${metric}{`));
    t.is(ofPeers.length, PEERS, metric);
    t.true(ofPeers.every(([name, told]) => told === value && name.includes(`friendly_name="${PEER.node}"`)));
  }
});
