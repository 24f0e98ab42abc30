/**
 * What the observer spends on packets that anybody may send it, with units. Source: docs/promises.md, L1 and L2;
 * figures: docs/decisions/observer.md.
 */

/**
 * Packets that one port takes in a second. Twenty thousand members send 800 empty ones and begin 167 handshakes; above
 * it, the port is closed for a while: even a packet that is dropped costs some microseconds.
 */
export const PACKETS_PER_SECOND_MAX = 10_000;

/** How long such a port stays closed, in ms. Members repeat a handshake every 5 s, and their NATs stay open. */
export const SHUT_MS = 5_000;

/**
 * Handshakes a second that all ports together answer or find forged, and in one go: half a core when all are members, a
 * tenth when none is. Twenty thousand members begin 333.
 */
export const HANDSHAKES_PER_SECOND_MAX = 400;
export const HANDSHAKES_BURST_MAX = 400;

/**
 * Of one source (an IPv4 address, or 64 bits of IPv6), which may be the NAT of a whole site: 250 members begin within 5
 * s.
 */
export const SOURCE_HANDSHAKES_PER_SECOND_MAX = 100;
export const SOURCE_HANDSHAKES_BURST_MAX = 200;

/** Sources that are remembered for this. The one that was silent for longest goes first. */
export const SOURCES_MAX = 4_096;

/** Handshakes that wait for the look-up of their member, in each port. */
export const LOOK_UPS_MAX = 512;

/** Members of one port's table, three a node that one admin can have at all by default: keys are rotated. */
export const MEMBERS_MAX = 65_536;

/** Two handshakes of one member are at least so far apart, in ms: a WireGuard that lost an answer waits 5,000. */
export const HANDSHAKE_EVERY_MS_MIN = 100;

/**
 * A session of WireGuard ends at this age, in ms, and so does what is known of a member that was silent for so long.
 * Source: REJECT_AFTER_TIME of the paper, 6.1.
 */
export const SESSION_MS_MAX = 180_000;

/** Look after what is due, in ms. */
export const SWEEP_MS = 1_000;

/** The second port is waited for so long before a place is told that only one of them saw, in ms. */
export const SETTLE_MS = 3_000;

/**
 * Changes of place that are told of one member in one go, and the wait for one more, in ms: each is a row, and a frame
 * to every other member.
 */
export const TOLD_BURST_MAX = 4;
export const TOLD_EVERY_MS = 15_000;

/** A place is told again after this, in ms, though nothing changed: what was told before may have been lost. */
export const TOLD_AGAIN_MS = 300_000;
