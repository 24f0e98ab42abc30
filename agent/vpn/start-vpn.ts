/** The VPN of this machine as its settings want it: loaded only where it is on, or was. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isVpnWanted } from '../config.ts';
import { NETMAKER_FILE } from '../data-directory.ts';
import type { AgentVpn, AgentVpnOptions } from './vpn.ts';

/**
 * Starts it; null: it is switched off, and an interface and names that an earlier run left are removed. Never throws:
 * what this machine cannot do is said once, in the log and in its health.
 */
export async function startVpn(options: AgentVpnOptions): Promise<AgentVpn | null> {
  const { config, directory, node, clusterName, log } = options;
  if (isVpnWanted(config)) return (await import('./vpn.ts')).openVpn(options);
  // of when it was wanted: the key stays, for when it is again
  if (existsSync(directory.vpnKeys) || existsSync(join(directory.path, NETMAKER_FILE)))
    void import('./vpn.ts').then(({ leaveVpn }) => leaveVpn(directory, node, clusterName(), log));
  return null;
}
