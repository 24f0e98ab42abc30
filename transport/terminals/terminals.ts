/** Terminals on nodes. Their SSH client is loaded with the first one. */
import type { Terminals } from '../../api/terminal/ports.ts';
import { NOT_LOADED } from '../../actors/refusal.ts';
import { latePart } from '../net/late-part.ts';
import type { Log } from '../net/log.ts';
import type { Tunnels } from '../tunnels/tunnels.ts';

/** Opens terminals over these tunnels. */
export function createTerminals(tunnels: Pick<Tunnels, 'reach'>, log: Log): Terminals {
  const terminals = latePart(
    'terminals',
    async () => (await import('./ssh-client.ts')).createSshTerminals(tunnels),
    log,
  );
  return { open: async (...asked) => (await terminals())?.open(...asked) ?? { ok: false, refusal: NOT_LOADED } };
}
