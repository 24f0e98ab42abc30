/**
 * A relay put together: its certificate, its listener, and the map by which members find it. The same inside an admin
 * and alone.
 */
import { X509Certificate } from 'node:crypto';
import type { Log } from '../../net/log.ts';
import type { RelayAdmission } from './admission.ts';
import { relayCertificate, type CertificateOptions } from './certificate.ts';
import { ownRelayMap, type OwnRegion } from './map.ts';
import { Relay } from './relay.ts';
import { listenForRelay } from './server.ts';

/** What it takes. */
export interface OpenRelayOptions extends CertificateOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly region: Pick<OwnRegion, 'id' | 'code'>;
  readonly admission: RelayAdmission;
  readonly log: Log;
}

/** A relay that listens. */
export interface OpenedRelay {
  readonly relay: Relay;
  readonly port: number;
  /** Where it is. */
  readonly region: OwnRegion;
  /** As a relay map is published. */
  readonly derpMap: unknown;
  /** When what vouches for it ends, Unix ms; null: it is known by its SHA-256. */
  readonly certificateEndsMs: number | null;
  isListening(): boolean;
  close(): Promise<void>;
}

/** Opens it. Rejects with what the system says of the port, or a line for the operator. */
export async function openRelay({
  host,
  port,
  region,
  admission,
  log,
  ...certificateOptions
}: OpenRelayOptions): Promise<OpenedRelay> {
  const { certificate, key, pin } = await relayCertificate(certificateOptions);
  const relay = new Relay({ admission, log });
  let derpMap: unknown = null;
  const server = await listenForRelay({ relay, host, port, certificate, key, map: () => derpMap }).catch(
    (error: unknown) => {
      relay.close();
      throw error;
    },
  );
  const own = { ...region, hostName: certificateOptions.hostName, port: server.port, pin };
  derpMap = ownRelayMap(own);
  return {
    relay,
    port: server.port,
    region: own,
    derpMap,
    certificateEndsMs: pin === null ? Date.parse(new X509Certificate(certificate).validTo) : null,
    isListening: () => server.isListening(),
    close: () => server.close(),
  };
}
