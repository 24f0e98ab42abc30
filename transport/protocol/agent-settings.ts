/** What an admin tells its agents of itself and of the others, with the welcome and whenever they ask. */
import { z } from 'zod';
import { SshRecordingSettings } from './ssh.ts';
import { wireUrl } from './text.ts';
import { VpnSettings } from './vpn.ts';

/** Relay maps that an agent is told of, and tries in their order. */
export const DERP_MAP_URLS_MAX = 32;

/** Settings that the admin hands to its agents. Refreshed at least every 10 minutes. */
export const AgentSettings = z.object({
  admin_urls: z.array(wireUrl().max(2_048)).max(32),
  derp_map_urls: z.array(wireUrl().max(2_048)).max(DERP_MAP_URLS_MAX),
  refresh_ms: z.int().min(1_000).max(600_000),
  /** Absent from an admin of version 1: then nothing is recorded. */
  ssh_recording: SshRecordingSettings.optional(),
  /** Absent from an admin before version 4: then there is no VPN to join. */
  mesh: VpnSettings.optional(),
  /** From version 9 on. Absent: every PING_INTERVAL_MS. An agent with a rhythm of its own keeps to that. */
  ping_ms: z.int().min(1_000).max(300_000).optional(),
  /** A ping that nothing follows for so long has another admin asked beside. From version 9 on. Absent: none is. */
  suspect_after_ms: z.int().min(1_000).max(300_000).optional(),
});
export type AgentSettings = z.infer<typeof AgentSettings>;
