/** Bounds of what one side of an SSH connection makes the other one do, whichever side it is. */

/**
 * New key exchanges of one connection in a minute that it need not have earned. One costs a processor some ms. Source:
 * OpenSSH asks for one each `RekeyLimit`, by default after a gigabyte.
 */
export const KEY_EXCHANGES_PER_MINUTE_MAX = 10;

/**
 * Bytes after which a new key exchange is always honest, both directions together: to carry them costs more than it.
 * OpenSSH with `RekeyLimit=1M` asks for one after 524,288 bytes or more, as it counts a packet of 32 KiB as 32,768
 * blocks of 16 bytes.
 */
export const KEY_EXCHANGE_EARNED_BYTES = 491_520;

/**
 * A new key exchange that is not over by then is cut, in ms: all that is said meanwhile waits for it. The answer to who
 * asks for one stands behind the output that waits for the link, up to 2 MiB; and an agent cuts a client that says
 * nothing for so long anyway (`keepAliveMs` × (`keepAlivesMissedMax` + 1)).
 */
export const KEY_EXCHANGE_MS_MAX = 120_000;
