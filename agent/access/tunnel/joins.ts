/** Streams of tunnels, joined with what was dialled for them. */
import { Joins, type JoinClock } from '../../../transport/net/streams/join.ts';
import { IDLE_MS_SETTABLE_MAX, LIFE_MS_SETTABLE_MAX } from '../../../transport/net/streams/limits.ts';

/** A set of them. The admin cuts by its settings; here only what no admin can have been set to keep. */
export function tunnelJoins(clock?: JoinClock): Joins {
  return new Joins({
    idleMsMax: IDLE_MS_SETTABLE_MAX,
    lifeMsMax: LIFE_MS_SETTABLE_MAX,
    ...(clock !== undefined && { clock }),
  });
}
