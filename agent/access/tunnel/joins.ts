/** Streams of tunnels, joined with what was dialled for them. */
import { Joins, type JoinClock } from '../../../transport/net/streams/join.ts';
import { PROXIED_IDLE_MS_MAX, PROXIED_LIFE_MS_MAX } from '../../../transport/protocol/limits.ts';

/** A set of them. The admin cuts by its settings; here only what no admin can have been set to keep. */
export function tunnelJoins(clock?: JoinClock): Joins {
  return new Joins({
    idleMsMax: PROXIED_IDLE_MS_MAX,
    lifeMsMax: PROXIED_LIFE_MS_MAX,
    ...(clock !== undefined && { clock }),
  });
}
