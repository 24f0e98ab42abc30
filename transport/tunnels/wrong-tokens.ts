/** Tokens of tunnels that nobody waits for, counted by address. Nobody is shut out: a balancer is one address. */
import { clientAddressOf } from '../net/client-address.ts';
import type { Log } from '../net/log.ts';
import { createAddressLimiter, type WindowLimiter } from '../net/window-limiter.ts';
import { WRONG_TUNNEL_TOKENS_PER_MINUTE_MAX } from './limits.ts';

/** Addresses that are remembered at once (L2). */
const ADDRESSES_MAX = 10_000;
const MINUTE_MS = 60_000;

/** Counts one more; the log names an address once a minute while it shows too many. */
export function countWrongTokens(
  monotonicMs: () => number,
  log: Log,
): (request: Parameters<typeof clientAddressOf>[0]) => void {
  const byAddress = (perWindowMax: number): WindowLimiter =>
    createAddressLimiter({ perWindowMax, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX }, { nowMs: monotonicMs });
  const [wrong, named] = [byAddress(WRONG_TUNNEL_TOKENS_PER_MINUTE_MAX), byAddress(1)];
  return (request) => {
    const address = clientAddressOf(request);
    if (wrong.add(address) > 0 && named.add(address) === 0)
      log.warn({ address }, 'somebody keeps opening tunnels that nobody waits for');
  };
}
