/** Bounds of reaching nodes, with units. */

/** Streams that wait for the tunnel of one node to open. */
export const WAITING_FOR_TUNNEL_MAX = 1_024;

/** How often tunnels are looked over for idleness and silence, in ms. */
export const TUNNEL_SWEEP_MS = 1_000;

/**
 * The agent has this long to connect to the target and say so, in ms: longer than its own limit, so that its own words
 * come through.
 */
export const STREAM_OPEN_MS_MAX = 20_000;

/**
 * Frames that an agent may send on its tunnels in a second, of which those with bytes of a stream count half at most
 * (frame-quota.ts); 1.75 s' worth may come in one go, and a tunnel that keeps above it is cut within 2 s
 * (transport/net/frame-window.ts). Several times what 2,000 new connections a second and 1 GB/s need.
 */
export const FRAMES_PER_SECOND_MAX = 20_000;

/**
 * Frames of a tunnel that are handled in one go; what came with them waits (frame-quota.ts). Twice as many where none
 * were handled lately. 500 take 2 to 5 ms where they are DATA of one byte, the dearest.
 */
export const PIECE_FRAMES_MAX = 250;

/**
 * Frames of a node that are handled in a second, over all of its tunnels: a quarter above what may come, so that a
 * burst is spread over 1.4 s and nothing waits that comes evenly.
 */
export const FRAMES_HANDED_ON_PER_SECOND = 25_000;

/** A node whose tunnel was cut for a flood is not asked for another within this, in ms. */
export const CUT_TUNNEL_AGAIN_MS = 2_000;

/** Agents that are asked over HTTP at once, by scrapes and diagnoses together. */
export const AGENT_REQUESTS_MAX = 256;

/**
 * Beyond it the one that takes longest makes room, once it took so long, in ms: nodes that hang must not keep others
 * from being asked. Honest answers take a tenth of it.
 */
export const AGENT_REQUEST_GIVES_WAY_MS = 1_000;

/**
 * Streams to servers of agents that stay open between requests: some 10 KiB each. Beyond it each request opens its own.
 */
export const KEPT_STREAMS_MAX = 4_096;

/**
 * A stream on which nothing is asked is closed after this, in ms: more than the minute between two scrapes, less than
 * what an agent keeps its end for (agent/observability/web-server.ts).
 */
export const KEPT_STREAM_MS_MAX = 70_000;

/**
 * A stream is not kept any more after this, in ms: the next one may go through the VPN, or by another tunnel, since
 * then.
 */
export const KEPT_STREAM_AGE_MS_MAX = 600_000;

/** All headers of an agent's answer, in bytes. */
export const AGENT_HEADER_BYTES_MAX = 8_192;

/**
 * Things that one node is asked at once: two systems that scrape its three sources, and two who look at it meanwhile.
 */
export const NODE_REQUESTS_MAX = 8;

/**
 * Of the answers of one node so many bytes are read in a second, and so many in one go (answer-shares.ts): what a
 * system takes that scrapes three sources of the largest size every 15 s, or eighty whose expositions have 60 KB.
 */
export const NODE_ANSWER_BYTES_PER_SECOND_MAX = 1_048_576;
export const NODE_ANSWER_BYTES_AT_ONCE_MAX = 12_582_912;

/**
 * Memory that all answers together hold while they are read, in bytes: a thousand of the usual size. Beyond it the
 * largest are cut.
 */
export const AGENT_REQUESTS_BYTES_MAX = 67_108_864;

/**
 * Pieces in which an answer comes, besides one for each AGENT_PIECE_BYTES_MIN of it: each costs a microsecond or three,
 * however small, and all that came is handled in one go. 4 MiB in packets of 1,400 bytes are 3,000.
 */
export const AGENT_PIECES_MAX = 512;
export const AGENT_PIECE_BYTES_MIN = 512;

/**
 * A node with a tunnel beside the VPN is asked for one through it at most this often, in ms: an agent that does not
 * get there opens another beside it, which is closed at once.
 */
export const VPN_AGAIN_MS = 60_000;

/**
 * That wait doubles each time that it was in vain, up to this, in ms: each asking is a handshake of TLS for nothing.
 */
export const VPN_AGAIN_MS_MAX = 600_000;

/** Tokens of tunnels that nobody waits for, which one address may show in a minute before it is named in the log. */
export const WRONG_TUNNEL_TOKENS_PER_MINUTE_MAX = 30;
