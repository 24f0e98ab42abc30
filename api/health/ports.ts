/** What health asks of the rest of the admin. */
import type { Standing } from '../../actors/standing.ts';
import type { VpnManager } from '../../actors/vpn/vpn.ts';

/**
 * What the rows say of this admin and its clusters. Every call rejects with DatabaseUnavailable when the database is
 * away.
 */
export interface HealthRows {
  /** Writes: whether the write was taken. A database that is read-only, or whose disk is full, still answers. */
  write(): Promise<boolean>;
  /** How long ago this admin last checked in by the database's clock, in ms; null when it is not registered. */
  registrationAgeMs(): Promise<number | null>;
  /** Clusters that have no record of ownership at all. */
  unrecordedClusters(): Promise<number>;
  /**
   * What is stored next would lie behind a place that is stored in the order of events already, so that nobody reads it
   * (V4).
   */
  eventsLieBehind(): Promise<boolean>;
  /**
   * Admins that are registered, and those of them that have not checked in for `silentMsMin`. Whoever was silent for
   * `goneMs` is gone and counts no more.
   */
  admins(
    silentMsMin: number,
    goneMs: number,
  ): Promise<{
    readonly total: number;
    readonly silent: number;
    /** Of those that check in. */ readonly draining: number;
  }>;
  /** Whether this admin drains. */
  isDraining(): Promise<boolean>;
  /** Clusters, and those of them that no live admin owns. */
  clusters(): Promise<{ readonly total: number; readonly ownerless: number }>;
  /** What one admin does at a time, and none does now. `hasBroker`: events are published to one. */
  idleTasks(hasBroker: boolean): Promise<readonly string[]>;
}

/** The relay of this admin, and the map of all of them. */
export interface RelayState {
  /** Null: it is switched off. */
  readonly own: {
    readonly isListening: boolean;
    /** Until it ends, in ms; null: it is known by its SHA-256, and its time means nothing. */
    readonly certificateLeftMs: number | null;
    /** The map that all admins serve names it. */
    readonly isMapped: boolean;
  } | null;
  /** URLs of a map are known, and none of them gives one to this admin's gateway. */
  readonly isMapMissing: boolean;
}

/** Everything that is checked. Null: it does not exist here. */
export interface HealthPorts {
  readonly rows: HealthRows;
  /**
   * Admins that check in, this one among them, and those of them whose words do not arrive here. Rejects with
   * DatabaseUnavailable.
   */
  readonly peers: { unheard(): Promise<{ readonly total: number; readonly unheard: number }> };
  /** Other admins that are alive, and those of them that this one does not get to. */
  readonly links: () => { readonly total: number; readonly unreached: number };
  /** The clock of this machine beside the database's: how far it is ahead, in ms, and whether that is too far. */
  readonly clock: { skewMs(): number; isSkewed(): boolean };
  /** How long ago leases were last renewed, in ms. */
  readonly leasesQuietMs: () => number;
  /** Clusters that are owned here and whose nodes could not be read for longer than this, in ms. */
  readonly lateClusters: (ms: number) => number;
  /** Whether the admins have room for all clusters. */
  readonly standing: () => Standing;
  /** Whoever coordinates VPNs. */
  readonly vpnManager: Pick<VpnManager, 'status'> | null;
  /**
   * This admin's own membership in the VPNs of its clusters. `isHere`: it has one. The problem is one sentence
   * without addresses.
   */
  readonly vpnClient: {
    state(): {
      readonly isHere: boolean;
      readonly problem: string | null;
      /** What is left out, while all else works. */ readonly note: string | null;
    };
  };
  /** Whether each listens. */
  readonly proxies: (() => { readonly http: boolean; readonly socks5: boolean }) | null;
  /** How long what is published of releases still holds, in ms by the database's clock; null: nothing is published. */
  readonly releasesLeftMs: () => Promise<number | null>;
  /** The certificate that this admin shows; null: it serves plain HTTP. */
  readonly certificate: (() => { readonly leftMs: number; readonly isRefused: boolean }) | null;
  readonly relay: () => RelayState;
  readonly broker: {
    isReached(): boolean;
    /** Events that wait for it, at most `max`. */ backlog(max: number): Promise<number>;
  } | null;
}
