/** The wire of the mesh: what members of a cluster's WireGuard network are told of each other, and what they say of themselves. */
import { z } from 'zod';
import { AliasName, ClusterName } from './cluster-names.ts';
import { NodeId } from './ids.ts';

/** Endpoints that one member publishes. A machine with more interfaces names those that are likeliest to be reached. */
export const MESH_ENDPOINTS_MAX = 8;

/** Peers of one member, and so members of one network: beyond, a machine is let into the cluster but not into its network. One frame must hold them all. */
export const MESH_PEERS_MAX = 512;

/** Aliases of one peer that become names. */
export const MESH_ALIASES_MAX = 16;

/** Observers that an agent is told of: two tell the kind of a NAT. */
export const MESH_OBSERVERS_MAX = 4;

/** Patience with a simultaneous try before it begins, in ms. */
export const MESH_TRY_IN_MS_MAX = 5_000;

/** A WireGuard public key: 32 bytes in base64, as `wg` writes them. */
export const WireguardKey = z.string().regex(/^[\w+/]{42}[AEIMQUYcgkosw048]=$/u, 'must be a WireGuard public key: 32 bytes in base64');

/** Address and port where a member may be reached outside the mesh: `198.51.100.7:51820` or `[2001:db8::7]:51820`. */
export const MeshEndpoint = z.string().max(64).refine(isEndpoint, 'must be an address and a port, such as 198.51.100.7:51820');

/** Region of a relay map. Source: DERPMap. */
export const RelayRegion = z.int().min(1).max(65_535);

/** One state of a network, as its owner counts: the epoch of the ownership, and a number that rises by one with each change. */
export const MeshRevision = z.object({ epoch: z.int().min(1), number: z.int().min(0) });
export type MeshRevision = z.infer<typeof MeshRevision>;

/** Another member. `node` is null for the gateway of the admin that owns the cluster. Addresses are plain, of one host each. */
export const MeshPeer = z.object({
  node: NodeId.nullable(),
  public_key: WireguardKey,
  ipv4: z.ipv4(),
  ipv6: z.ipv6(),
  endpoints: z.array(MeshEndpoint).max(MESH_ENDPOINTS_MAX * 2),
  relay_region: RelayRegion.nullable(),
  aliases: z.array(AliasName).max(MESH_ALIASES_MAX),
});
export type MeshPeer = z.infer<typeof MeshPeer>;

/** The network as one member sees it, without its peers. `ipv4_range` and `ipv6_range` are those of the whole cluster. */
export const MeshNetwork = z.object({
  cluster_name: ClusterName,
  /** `<cluster>.<DOMAIN>`, below which names of members are. */
  domain: z.string().max(253),
  /** The key under which this member is known to the others: the one to use. */
  public_key: WireguardKey,
  ipv4: z.ipv4(),
  ipv6: z.ipv6(),
  ipv4_range: z.cidrv4(),
  ipv6_range: z.cidrv6(),
  mtu: z.int().min(1_280).max(9_000),
  /** Aliases of this member itself. */
  aliases: z.array(AliasName).max(MESH_ALIASES_MAX),
});
export type MeshNetwork = z.infer<typeof MeshNetwork>;

/** What a member says of itself. Its addresses in the mesh are not its own to choose. */
export const MeshAdvertisement = z.object({
  public_key: WireguardKey,
  listen_port: z.int().min(1).max(65_535),
  /** Of its own interfaces. What NATs make of them is observed, not claimed. */
  endpoints: z.array(MeshEndpoint).max(MESH_ENDPOINTS_MAX),
  relay_region: RelayRegion.nullable(),
  /** The state that it holds already; null: none. */
  revision: MeshRevision.nullable(),
});
export type MeshAdvertisement = z.infer<typeof MeshAdvertisement>;

/** How packets go to a peer. */
export const MESH_PATHS = ['direct', 'relayed', 'none'] as const;
export type MeshPath = (typeof MESH_PATHS)[number];

/** How well a member is connected: counts of its peers by path, and the gateway apart, null when there is none. */
export const MeshReport = z.object({
  direct: z.int().min(0).max(MESH_PEERS_MAX),
  relayed: z.int().min(0).max(MESH_PEERS_MAX),
  none: z.int().min(0).max(MESH_PEERS_MAX),
  gateway: z.object({ path: z.enum(MESH_PATHS), handshake_age_ms: z.int().min(0).nullable() }).nullable(),
});
export type MeshReport = z.infer<typeof MeshReport>;

/** Where a member's WireGuard socket is seen from outside: a peer without addresses, which answers handshakes and nothing else. Null host: the one of the admin's URL. */
export const MeshObserver = z.object({ host: z.string().max(253).nullable(), port: z.int().min(1).max(65_535), public_key: WireguardKey });
export type MeshObserver = z.infer<typeof MeshObserver>;

/** How agents join their network: coordinated by the admin; by Netmaker's client, once they get a `netmaker-join`; or not at all. */
export const MeshSettings = z.discriminatedUnion('mode', [
  z.object({ mode: z.literal('embedded'), observers: z.array(MeshObserver).max(MESH_OBSERVERS_MAX) }),
  z.object({ mode: z.literal('netmaker') }),
  z.object({ mode: z.literal('off') }),
]);
export type MeshSettings = z.infer<typeof MeshSettings>;

function isEndpoint(text: string): boolean {
  const [, ipv6, ipv4, port] = /^(?:\[([\da-f:.]+)\]|([\d.]+)):(\d{1,5})$/iu.exec(text) ?? [];
  const isAddress = ipv6 === undefined ? z.ipv4().safeParse(ipv4).success : z.ipv6().safeParse(ipv6).success;
  return isAddress && Number(port) >= 1 && Number(port) <= 65_535;
}
