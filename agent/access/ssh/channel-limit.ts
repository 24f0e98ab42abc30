/** How many channels one connection may have: sessions and forwarded streams together. */
import type { Connection } from 'ssh2';
import { OPEN_FAILURE, channelsOf, refuseChannel } from './library.ts';
import type { SshLimits } from './limits.ts';

/** Refuses a channel that a client asks for beyond its limit, and says why. True: it did, and nothing is left to do. */
export function refuseBeyondLimit(
  client: Connection,
  reject: () => void,
  { channelsMax }: Pick<SshLimits, 'channelsMax'>,
): boolean {
  // the one that is asked for counts already
  if (channelsOf(client) <= channelsMax) return false;
  refuseChannel(client, reject, OPEN_FAILURE.resourceShortage, `more than ${channelsMax} channels at once`);
  return true;
}
