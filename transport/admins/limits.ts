/** How much admins take of each other. What happens beyond each limit: docs/limits.md. */

/** Connections to one other admin. More calls wait for one of them. */
export const PEER_CONNECTIONS_MAX = 32;

/** Calls to one other admin that are open here. */
export const FORWARDS_OPEN_MAX = 1_024;

/** Calls that one connection of calls carries at once. More go as requests of their own. */
export const LINK_CALLS_MAX = 256;

/**
 * Largest call that goes over it, in bytes: what is larger goes as a request of its own, so that none waits behind it.
 */
export const LINK_CALL_BYTES_MAX = 65_536;

/**
 * What waits to be sent over it, in bytes: calls beyond go as requests of their own, and who lets answers pile up
 * beyond loses the connection. As large as the largest answer.
 */
export const LINK_UNSENT_BYTES_MAX = 16_777_216;

/** Calls of one other admin that are done here at once: below what the rows take, with three admins. */
export const PEER_CALLS_MAX = 512;

/** What a call has besides the body of its client, in bytes: names, keys, the seal. */
export const CALL_SLACK_BYTES = 65_536;

/** Largest answer, in bytes: above the largest page that any operation answers (PAGE_OUTPUT_BYTES_MAX). */
export const ANSWER_BYTES_MAX = 16_777_216;

/**
 * A request of another admin is this old at most, or from this far ahead, by the database's clock, in ms. Above what a
 * queue, a slow network and two readings of that clock come to; a proof is worth nothing after it.
 */
export const CALL_AGE_MS_MAX = 15_000;

/** Proofs of one admin that are remembered as used: 4,369 a second for as long as each could be shown again. */
export const NONCES_MAX = 131_072;

/** Answers to one admin that are kept, for how long in ms, and how large one and all of them are, in bytes. */
export const ANSWERS_KEPT_MAX = 4_096;
export const ANSWER_KEPT_MS = 30_000;
export const ANSWER_KEPT_BYTES_MAX = 65_536;
export const ANSWERS_KEPT_BYTES_MAX = 16_777_216;

/** Longest wait for a connection to another admin, in ms. */
export const PEER_CONNECT_MS_MAX = 500;

/**
 * A call that has no answer over the link after so long goes by way of the database too, in ms: above what any call
 * takes on a link that is well.
 */
export const DETOUR_AFTER_MS = 1_000;

/** Largest call and answer by way of the database, sealed, in bytes; and calls to one admin that are open there. */
export const DATABASE_MESSAGE_BYTES_MAX = 65_536;
export const DATABASE_CALLS_OPEN_MAX = 64;

/**
 * An admin is asked first whether it hears by way of the database, with so long to answer, in ms; and it counts as told
 * for so long, in ms.
 */
export const DATABASE_PROBE_MS_MAX = 500;
export const DATABASE_PROBE_GOOD_MS = 1_000;

/**
 * Base64 of one piece of such a message, in characters: PostgreSQL notifies of less than 8,000 bytes. Source:
 * PostgreSQL, NOTIFY.
 */
export const PIECE_CHARS_MAX = 7_500;

/** Messages of which not all pieces have come, in number, and for how long these wait for the others, in ms. */
export const UNFINISHED_MESSAGES_MAX = 128;
export const PIECES_AGE_MS_MAX = 5_000;

/**
 * Wrong proofs that one address may show in a minute before it is named in the log. Right ones always get in: admins
 * may stand behind one address with others.
 */
export const WRONG_PROOFS_PER_MINUTE_MAX = 30;

/**
 * Each other admin is asked this often whether it is reached, and how long it has to answer, in ms. One that is not
 * reached is asked each second.
 */
export const PROBE_EVERY_MS = 5_000;
export const PROBE_MS_MAX = 2_000;

/** News that wait for one other admin, in number. Beyond it they are dropped, and it reads the rows. */
export const NEWS_WAITING_MAX = 20_000;

/** For so long news are gathered before they are told, in ms, and so large is a message of them at most, in bytes. */
export const NEWS_GATHER_MS = 5;
export const NEWS_FRAME_BYTES_MAX = 1_048_576;

/** Commands that are named to another admin; where more are waited for, all of its commands are told. */
export const WATCHED_COMMANDS_MAX = 10_000;

/**
 * Over a connection between admins something is said this often, in ms; after the longer silence it is taken for lost.
 */
export const LINK_PING_MS = 2_000;
export const LINK_SILENCE_MS_MAX = 6_000;

/** Waits before a lost connection is dialled again, in ms: the first, and the longest. They double. */
export const LINK_REDIAL_MS = 250;
export const LINK_REDIAL_MS_MAX = 5_000;

/** A connection over which nothing was wanted for so long is closed, in ms. */
export const LINK_UNUSED_MS_MAX = 60_000;

/** While news may be left out, whoever shows nodes is told so this often, in ms, and reads the rows. */
export const MISSED_EVERY_MS = 5_000;

/** Running executions whose output one other admin is told at a time: as many as are tailed anywhere. */
export const TOLD_TAILS_MAX = 1_000;

/**
 * Live output on its way to one other admin that it has not said it read, in bytes of messages. While there is as much,
 * no more is taken up: what waits behind it are news and not outputs.
 */
export const TAIL_UNREAD_BYTES_MAX = 262_144;

/** So long an admin that tails waits for its connection to the owner, in ms, before it looks for the owner again. */
export const TAIL_LINK_MS_MAX = 5_000;

/** Upgrades that are passed on to other admins and not answered yet. More are told to come again. */
export const RELAYS_OPENING_MAX = 256;

/** The other admin answers such an upgrade within this, in ms: half of the time that its token is good for. */
export const RELAY_OPEN_MS_MAX = 5_000;

/**
 * Sessions of agents that are carried on to other admins, at once. More are sent to the owner, as those of older
 * agents.
 */
export const CARRIED_SESSIONS_MAX = 10_000;

/** Connections of agents whose bytes go on to other admins, at once. More are told to come again. */
export const CARRIED_STREAMS_MAX = 4_096;

/**
 * Bytes of an agent that are sealed as one between two admins: what is read at a time, and all that is held of what has
 * not come as a whole.
 */
export const RELAYED_RECORD_BYTES_MAX = 65_536;
