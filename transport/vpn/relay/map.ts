/** The relay map of one relay of ours, as a DERPMap. */

/** What the map says of it. */
export interface OwnRegion {
  readonly id: number;
  readonly code: string;
  /** Where agents reach it: a name or an address. */
  readonly hostName: string;
  readonly port: number;
  /** SHA-256 of its certificate, hex; null: an authority vouches for it. */
  readonly pin: string | null;
}

/** A map of this one region. */
export function ownRelayMap(region: OwnRegion): unknown {
  return relayMapOf([region]);
}

/** A map of these regions. No STUN: members are told where they are seen by their observers. */
export function relayMapOf(regions: readonly OwnRegion[]): unknown {
  return {
    omitDefaultRegions: true,
    Regions: Object.fromEntries(regions.map((one) => [one.id, publishedRegion(one)])),
  };
}

function publishedRegion({ id, code, hostName, port, pin }: OwnRegion): unknown {
  return {
    RegionID: id,
    RegionCode: code,
    RegionName: code,
    Nodes: [
      {
        Name: `${id}a`,
        RegionID: id,
        HostName: hostName.replace(/^\[(.*)\]$/u, '$1'),
        ...(pin !== null && { CertName: `sha256-raw:${pin}` }),
        DERPPort: port,
        STUNPort: -1,
      },
    ],
  };
}
