/** The relay inside an admin: for the members of the clusters in its database, by the rows. */
import type { Log } from '../../net/log.ts';
import { createClusterAdmission } from './admission.ts';
import type { OwnRegion } from './map.ts';
import { openRelay, type OpenedRelay } from './open.ts';
import type { RelayCounters } from './counters.ts';

/** The admin's settings for it, under their names. */
export interface EmbeddedRelaySettings {
  readonly EMBEDDED_RELAY: boolean;
  readonly EMBEDDED_RELAY_HOST: string;
  readonly EMBEDDED_RELAY_PORT: number;
  readonly EMBEDDED_RELAY_HOSTNAME?: string | undefined;
  readonly EMBEDDED_RELAY_TLS_CERT_FILE?: string | undefined;
  readonly EMBEDDED_RELAY_TLS_KEY_FILE?: string | undefined;
  readonly DATA_DIR: string;
}

/** The relay, which is there once it is opened. */
export interface EmbeddedRelay {
  /** Null: it is off, or not open yet. */
  readings(): (Readonly<RelayCounters> & { readonly clients: number }) | null;
  /** Null: it is off. One that is not open yet does not listen. */
  state(): EmbeddedRelayState | null;
  /** A key that is nobody's any more (E5). */
  forget(publicKey: string): void;
  /** Something changed in a cluster, null in any: who of it is connected is looked up again, within a second. */
  changed(cluster: string | null): void;
  /**
   * Listens where it is switched on, and answers where; null: it is off. `url` is the first of the admin's, `region` is
   * asked where it is on. Rejects with a line for the operator.
   */
  open(url: string, region: () => Promise<Pick<OwnRegion, 'id' | 'code'>>): Promise<OwnRegion | null>;
  close(): Promise<void>;
}

/** How it is. */
export interface EmbeddedRelayState {
  readonly isListening: boolean;
  /** Until its certificate ends, in ms; null: it is known by its SHA-256. */
  readonly certificateLeftMs: number | null;
  /** Its region; null: not known yet. */
  readonly region: number | null;
}

/** What it asks of the admin. */
export interface EmbeddedRelayPorts {
  /** In whose VPNs a key is. */
  readonly clustersOf: (publicKey: string) => Promise<readonly string[]>;
  readonly nowMs: () => number;
  readonly log: Log;
}

/** Makes it. Nothing listens yet. */
export function createEmbeddedRelay(
  settings: EmbeddedRelaySettings,
  { clustersOf, nowMs, log }: EmbeddedRelayPorts,
): EmbeddedRelay {
  let opened: OpenedRelay | null = null;

  return {
    readings: () => (opened === null ? null : { clients: opened.relay.count(), ...opened.relay.counters }),
    state: () => (settings.EMBEDDED_RELAY ? stateOf(opened, nowMs()) : null),
    forget: (publicKey) => opened?.relay.forget(publicKey),
    changed: (cluster) => opened?.relay.changed(cluster),
    async open(url, region) {
      if (!settings.EMBEDDED_RELAY) return null;
      const given = await region();
      const { EMBEDDED_RELAY_HOST: host, EMBEDDED_RELAY_PORT: port } = settings;
      const hostName = (settings.EMBEDDED_RELAY_HOSTNAME ?? new URL(url).hostname).replace(/^\[(.*)\]$/u, '$1');
      opened = await openRelay({
        host,
        port,
        hostName,
        region: given,
        admission: createClusterAdmission(clustersOf),
        log,
        dataDir: settings.DATA_DIR,
        nowMs: nowMs(),
        certificateFile: settings.EMBEDDED_RELAY_TLS_CERT_FILE,
        keyFile: settings.EMBEDDED_RELAY_TLS_KEY_FILE,
      }).catch((error: unknown) => {
        throw new Error(
          `The relay cannot start (EMBEDDED_RELAY_HOST ${host}, EMBEDDED_RELAY_PORT ${port}): ${(error as Error).message}.`,
          { cause: error },
        );
      });
      log.info({ port: opened.port, host: hostName, region: given.id }, 'the relay listens');
      return opened.region;
    },
    close: async () => {
      await opened?.close();
    },
  };
}

function stateOf(opened: OpenedRelay | null, nowMs: number): EmbeddedRelayState {
  if (opened === null) return { isListening: false, certificateLeftMs: null, region: null };
  const { certificateEndsMs: endsMs, region } = opened;
  return {
    isListening: opened.isListening(),
    certificateLeftMs: endsMs === null ? null : endsMs - nowMs,
    region: region.id,
  };
}
