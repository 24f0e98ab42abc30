/** What agents are told of this admin when they come, and again every few minutes. */
import { DERP_MAP_URLS_MAX, type AgentSettings } from '../protocol/agent-settings.ts';
import { PEERED_PING_MS, SUSPECT_AFTER_MS } from '../protocol/limits.ts';

/**
 * Agents ask for their settings this often, in ms. Source: docs/architecture/sessions.md: at least every 10 minutes.
 */
const SETTINGS_REFRESH_MS = 300_000;

/** The admin's settings for it, under their names. */
export interface AgentSettingsSettings {
  readonly CORE_DERP_MAP_URLS: readonly string[];
  readonly SSH_RECORDING: NonNullable<AgentSettings['ssh_recording']>['mode'];
  readonly SSH_RECORDING_MAX_BYTES: number;
  readonly SSH_RECORDING_MAX_MS: number;
}

/** What is told, and by which parts it grows as they open. */
export interface AgentSettingsBoard {
  /**
   * As it is now: plain values, which are made once for all who are told in one turn of the event loop, as a fleet is
   * that comes back. To be asked for anew each time.
   */
  readonly settings: Readonly<AgentSettings>;
  /** Who coordinates VPNs, and by what it sees from where members come, now. */
  coordinates(vpn: () => AgentSettings['mesh']): void;
  /**
   * Where the map of the relays inside admins is now, for those who were given no other: the same at each, in the order
   * in which they are tried, and none twice. Empty: there are none.
   */
  relaysAt(mapUrls: () => readonly string[]): void;
  /** Whether other admins live, which agents may ask while this one is silent. */
  peersKnownBy(hasPeers: () => boolean): void;
}

/** The settings alone, at first. `urls`: those of the admins, in order. */
export function createAgentSettings(
  settings: AgentSettingsSettings,
  urls: () => readonly string[],
): AgentSettingsBoard {
  let vpn = (): AgentSettings['mesh'] => ({ mode: 'embedded', observers: [] });
  let ownMapUrls = (): readonly string[] => [];
  let hasPeers = (): boolean => false;
  let ofTurn: AgentSettings | null = null;
  const made = (): AgentSettings => {
    const given = settings.CORE_DERP_MAP_URLS;
    const isPeered = hasPeers();
    return {
      admin_urls: [...urls()],
      derp_map_urls: given.length > 0 ? [...given] : [...new Set(ownMapUrls())].slice(0, DERP_MAP_URLS_MAX),
      refresh_ms: SETTINGS_REFRESH_MS,
      ssh_recording: {
        mode: settings.SSH_RECORDING,
        bytes_max: settings.SSH_RECORDING_MAX_BYTES,
        ms_max: settings.SSH_RECORDING_MAX_MS,
      },
      mesh: vpn(),
      ping_ms: isPeered ? PEERED_PING_MS : undefined,
      suspect_after_ms: isPeered ? SUSPECT_AFTER_MS : undefined,
    };
  };
  return {
    get settings() {
      if (ofTurn === null) {
        ofTurn = made();
        setImmediate(() => {
          ofTurn = null;
        });
      }
      return ofTurn;
    },
    coordinates(now) {
      vpn = now;
    },
    relaysAt(mapUrls) {
      ownMapUrls = mapUrls;
    },
    peersKnownBy(known) {
      hasPeers = known;
    },
  };
}
