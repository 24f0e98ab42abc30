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

/** A map of this one region. No STUN: members are told where they are seen by their observers. */
export function ownRelayMap({ id, code, hostName, port, pin }: OwnRegion): unknown {
  const bare = hostName.replace(/^\[(.*)\]$/u, '$1');
  return {
    omitDefaultRegions: true,
    Regions: {
      [id]: {
        RegionID: id,
        RegionCode: code,
        RegionName: code,
        Nodes: [
          {
            Name: `${id}a`,
            RegionID: id,
            HostName: bare,
            ...(pin !== null && { CertName: `sha256-raw:${pin}` }),
            DERPPort: port,
            STUNPort: -1,
          },
        ],
      },
    },
  };
}
