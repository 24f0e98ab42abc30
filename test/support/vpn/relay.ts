/** Relays of a test's own, and clients of them. */
import { createServer, type TLSSocket } from 'node:tls';
import { listening } from '../net/listening.ts';
import { createScope, type Scope } from '../scope.ts';
import { until } from '../until.ts';
import { silentLog } from '../log.ts';
import { DerpClient, type DerpOptions } from '../../../transport/vpn/derp/client.ts';
import { boxKeys, newBoxKeys } from '../../../transport/vpn/derp/protocol.ts';
import { readRelayMap, type RelayMap, type RelayRegion } from '../../../transport/vpn/relay-map/map.ts';
import type { RelayAdmission } from '../../../transport/vpn/relay/admission.ts';
import { ownRelayMap } from '../../../transport/vpn/relay/map.ts';
import { Relay, type RelayOptions } from '../../../transport/vpn/relay/relay.ts';
import { certificateSha256, selfSigned } from '../../../transport/vpn/relay/self-signed.ts';
import { listenForRelay } from '../../../transport/vpn/relay/server.ts';

/** A relay that listens, by default on 127.0.0.1 with a self-signed certificate that its map pins. */
export interface StartedRelay {
  readonly relay: Relay;
  readonly port: number;
  /** Of its one region, as published and as read. */
  readonly derpMap: unknown;
  readonly map: RelayMap;
  readonly region: RelayRegion;
  /** PEM, for clients of others. */
  readonly certificate: string;
  /** As a kill: its connections break and its port is closed. */
  stop(): Promise<void>;
}

/** Beyond what a relay takes itself. */
export interface StartRelayOptions extends Partial<RelayOptions> {
  readonly host?: string;
  readonly port?: number;
  readonly regionId?: number;
  /** Name or address in its certificate and its map. */
  readonly hostName?: string;
}

/** Lets everybody in, all in one cluster. */
export const openAdmission: RelayAdmission = { admit: async () => ({ clusters: new Set(['one']) }), forget: () => {} };

/** Starts one; it ends with the scope. */
export async function startRelay(
  scope: Scope,
  { host = '127.0.0.1', port = 0, regionId = 900, hostName = '127.0.0.1', ...options }: StartRelayOptions = {},
): Promise<StartedRelay> {
  const relay = new Relay({ admission: openAdmission, log: silentLog, ...options });
  const { certificate, key } = selfSigned(hostName, Date.now());
  let derpMap: unknown = null;
  const server = await listenForRelay({
    relay,
    host,
    port,
    certificate,
    key,
    map: () => derpMap,
    ...(options.connectionsMax !== undefined && { connectionsMax: options.connectionsMax }),
  });
  derpMap = ownRelayMap({
    id: regionId,
    code: `test-${regionId}`,
    hostName,
    port: server.port,
    pin: certificateSha256(certificate),
  });
  const map = mapOf(derpMap);
  const region = map.regions.get(regionId);
  if (region === undefined) throw new Error('a map without its region');
  const own = createScope();
  own.teardown(() => server.close());
  scope.teardown(() => own.end());
  return { relay, port: server.port, derpMap, map, region, certificate, stop: () => own.end() };
}

/** What a relay says to whoever wants to speak DERP by an upgrade. */
export const UPGRADED = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: DERP\r\nConnection: Upgrade\r\n\r\n';

/** A TLS server that says what the test says once it was asked to speak DERP, from `UPGRADED` on; its region. */
export async function sayingRelay(scope: Scope, says: (socket: TLSSocket) => void): Promise<RelayRegion> {
  const { certificate, key } = selfSigned('127.0.0.1', Date.now());
  const server = createServer({ cert: certificate, key }, (socket) => {
    socket.on('error', () => {}); // its close follows
    socket.once('data', () => says(socket));
  });
  const region = mapOf(
    ownRelayMap({
      id: 903,
      code: 'saying',
      hostName: '127.0.0.1',
      port: await listening(scope, server),
      pin: certificateSha256(certificate),
    }),
  ).regions.get(903);
  if (region === undefined) throw new Error('no region');
  return region;
}

/** The same, once it has agreed to. */
export function lyingRelay(scope: Scope, says: (socket: TLSSocket) => void): Promise<RelayRegion> {
  return sayingRelay(scope, (socket) => {
    socket.write(UPGRADED);
    says(socket);
  });
}

/** A map as members read it. */
export function mapOf(derpMap: unknown): RelayMap {
  const read = readRelayMap(JSON.stringify(derpMap));
  if (!read.ok) throw new Error(read.problem);
  return read.map;
}

/** A client that remembers what it was told. */
export interface RelayClient {
  readonly publicKey: string;
  readonly connection: DerpClient;
  readonly packets: { readonly from: string; readonly packet: Buffer }[];
  readonly problems: string[];
  readonly warnings: string[];
  opened: number;
}

/** Starts one; it ends with the scope. */
export function startClient(
  scope: Scope,
  region: Pick<RelayRegion, 'nodes'>,
  options: Partial<DerpOptions> = {},
): RelayClient {
  const own = options.privateKey ?? newBoxKeys().privateKey.toString('base64');
  const client: { -readonly [Name in keyof RelayClient]: RelayClient[Name] } = {
    publicKey: boxKeys(own).publicKey.toString('base64'),
    packets: [],
    problems: [],
    warnings: [],
    opened: 0,
    connection: new DerpClient({
      region,
      reconnectMsMin: 20,
      reconnectMsMax: 200,
      ...options,
      privateKey: own,
      owner: {
        received: (from, packet) => void client.packets.push({ from, packet: Buffer.from(packet) }),
        opened: () => {
          client.opened += 1;
        },
        lost: (problem) => void client.problems.push(problem),
        warned: (problem) => void client.warnings.push(problem),
        ...options.owner,
      },
    }),
  };
  scope.teardown(() => client.connection.close());
  return client;
}

/** A client that is connected. */
export async function connectedClient(
  scope: Scope,
  region: Pick<RelayRegion, 'nodes'>,
  options: Partial<DerpOptions> = {},
): Promise<RelayClient> {
  const client = startClient(scope, region, options);
  await until('a client of the relay', () => client.connection.isOpen).catch((error: unknown) => {
    throw new Error(`not connected: ${client.problems.join(' | ')}`, { cause: error });
  });
  return client;
}
