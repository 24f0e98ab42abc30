/** The version of what admins say to each other, with its dated history. */

/**
 * One integer, which each admin stores with its row. Raised by every change that an admin of the version before could
 * notice, once a release: admins whose versions differ by one understand each other, so that two releases that follow
 * each other do. A message or a field is only added, and LINK_VERSION_MIN rises one release later.
 *
 * | version | date | what changed |
 * |---|---|---|
 * | 1 | 2026-11-23 | first version: calls, news, tunnels that are passed on |
 * | 2 | 2026-11-23 | the connection of news tells live output too: tail, untail, tail-read, tail-output, untailed; an
 * admin hears by its channel that it was handed a cluster over (`owned`); sessions of agents are passed on; calls go
 * over a connection of their own where it is open; an admin that opens sealed bytes of agents says so when it is pinged
 * (protocol/pong.ts) |
 */
export const LINK_VERSION = 2;

/** From this version on an admin tells others the live output of executions on its nodes. */
export const LINK_VERSION_TAILS = 2;

/** From this version on an admin takes sessions of agents that another one passes on. */
export const LINK_VERSION_SESSIONS = 2;

/**
 * From this version on an admin takes calls over a connection. Whether it does is seen when it is dialled: commits
 * between releases say this version and do not.
 */
export const LINK_VERSION_CALLS = 2;

/** The oldest version of the other side that this side still understands. */
export const LINK_VERSION_MIN = 1;

/** Whether an admin of this version and this one understand each other. Null: it is older than calls. */
export function isSpoken(version: number | null): boolean {
  return version !== null && version >= LINK_VERSION_MIN && version <= LINK_VERSION + 1;
}

/** Below this path of an admin's HTTP server other admins come in. */
export const INTERNAL_PREFIX = '/internal/v1/';

/** Path of calls: one POST each. */
export const CALL_PATH = `${INTERNAL_PREFIX}call`;

/** Path of calls that go over one connection: a WebSocket. */
export const CALLS_PATH = `${INTERNAL_PREFIX}calls`;

/** Path of news: a WebSocket, over which the dialled admin tells the dialling one. */
export const NEWS_PATH = `${INTERNAL_PREFIX}news`;

/** Header by which a request proves that it comes from an admin. Source: transport/admins/peer-key.ts. */
export const PEER_HEADER = 'x-edge-peer';

/**
 * Header of a tunnel or a session that an admin passes on to another one, sealed, base64url: the token, and of a
 * session as JSON also the address at which its agent came in.
 */
export const RELAYED_HEADER = 'x-edge-relayed';

/**
 * Header of such an upgrade whose bytes are sealed once it is answered (transport/admins/sealed-stream.ts); its proof
 * is bound to that. Without it they cross as they are: over https, and from or to an admin that does not say that it
 * opens what is sealed.
 */
export const RELAY_SEALED_HEADER = 'x-edge-sealed';

/** Header of a 421: id of the admin that was reached in place of the one that was meant. */
export const REACHED_HEADER = 'x-edge-reached';

/**
 * Operation that every admin answers, whoever owns what: by it others see that they reach it, and what it does besides
 * its version (pong.ts).
 */
export const PING = 'ping';
