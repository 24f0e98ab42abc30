/** What the observer counts, of all ports together. */

/** What became of a packet that came in: one outcome each. */
export const PACKET_OUTCOMES = [
  'seen',
  'answered',
  'garbage',
  'forged',
  'replayed',
  'stranger',
  'limited',
  'unknown_session',
  'unanswered',
] as const;
/**
 * One of them. `seen`: an empty packet of a member; `answered`: a member's handshake; `garbage`: no packet of WireGuard
 * that is for us; `forged`: it claims what it cannot prove; `replayed`: it came before; `stranger`: nobody's key;
 * `limited`: too many at once; `unknown_session`: of an earlier start of this admin; `unanswered`: a handshake whose
 * sender could not be looked up.
 */
export type PacketOutcome = (typeof PACKET_OUTCOMES)[number];

/** Since the start. */
export interface ObserverCounters {
  readonly packets: Record<PacketOutcome, number>;
  /** Places of members that were told. */
  told: number;
  /** Times a port was closed for a while, because it was flooded. */
  shut: number;
}

/** All zero. */
export function noneObserved(): ObserverCounters {
  return {
    packets: {
      seen: 0,
      answered: 0,
      garbage: 0,
      forged: 0,
      replayed: 0,
      stranger: 0,
      limited: 0,
      unknown_session: 0,
      unanswered: 0,
    },
    told: 0,
    shut: 0,
  };
}
