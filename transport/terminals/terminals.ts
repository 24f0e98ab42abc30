/** Terminals on nodes. Their SSH client is loaded with the first one: most admins have none. */
import type { Terminals } from '../../api/terminal/ports.ts';
import type { Tunnels } from '../tunnels/tunnels.ts';

/** Opens terminals over these tunnels. */
export function createTerminals(tunnels: Pick<Tunnels, 'reach'>): Terminals {
  return {
    open: async (...asked) => (await import('./ssh-client.ts')).createSshTerminals(tunnels).open(...asked),
  };
}
