/** Whether anybody on the network may go through this machine's proxies. */
import { addressClass } from '../../../transport/net/addresses.ts';
import type { AgentConfig } from '../../config.ts';

/** What to do about it. */
export const OPEN_PROXIES_HINT = 'Set AGENT_PROXY_AUTH_ENABLED=true, or AGENT_PROXY_HOST to 127.0.0.1.';

/**
 * One sentence when they ask for no password at an address that other machines reach; else null. It names no address
 * (R3).
 */
export function openProxiesProblem({
  AGENT_PROXY_ENABLED,
  AGENT_PROXY_AUTH_ENABLED,
  AGENT_PROXY_HOST,
}: Pick<AgentConfig, 'AGENT_PROXY_ENABLED' | 'AGENT_PROXY_AUTH_ENABLED' | 'AGENT_PROXY_HOST'>): string | null {
  if (!AGENT_PROXY_ENABLED || AGENT_PROXY_AUTH_ENABLED || AGENT_PROXY_HOST.every(isLoopback)) return null;
  return 'The proxies of this machine ask for no password and listen beyond loopback: whoever reaches it reaches what it may reach.';
}

function isLoopback(address: string): boolean {
  return addressClass(address) === 'loopback';
}
