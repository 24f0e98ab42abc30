/** Every bound of the wire contract, with its unit. Both sides import them. */

/**
 * Largest frame, in bytes of UTF-8. A larger one closes the session with 4008. Source: docs/promises.md, L2; `ws`
 * itself would accept 100 MiB.
 */
export const FRAME_BYTES_MAX = 1_048_576;

/**
 * Output carried in one `output-part` or inside a `result`, in UTF-8 bytes before JSON escaping. Worst-case escaping is
 * six-fold and stays below FRAME_BYTES_MAX. A part with letters of several bytes may have up to 3 bytes more, and has
 * no more UTF-16 code units than this, which is what both sides count.
 */
export const OUTPUT_PART_BYTES_MAX = 65_536;

/** Parts of one output: 16 MiB, far above the default cap of 1 MiB (docs/commands.md). */
export const OUTPUT_PARTS_MAX = 256;

/**
 * Outputs that one session streams at the same time: an admin asks for no more. At 10 pieces a second each they stay
 * below the frames that it takes.
 */
export const TAILS_PER_SESSION_MAX = 32;

/** Executions named in one list of a frame. Also the most that an agent may hold unconfirmed. */
export const EXECUTIONS_PER_FRAME_MAX = 1_024;

/**
 * Script length in UTF-8 bytes. Escaped it must fit a frame next to its envelope; the admin refuses a longer one at
 * creation.
 */
export const COMMAND_TEXT_BYTES_MAX = 131_072;

/** The agent sends a ping this often, in ms. Source: docs/architecture/sessions.md. */
export const PING_INTERVAL_MS = 10_000;

/**
 * How often it does where an admin knows others, and after which time without an answer it asks one of them beside the
 * one that is silent, in ms. A lease that nobody renews is taken over after 3 to 4 s, so whoever finds the next owner
 * sooner than that finds none. Source: docs/architecture/sessions.md.
 */
export const PEERED_PING_MS = 3_300;
export const SUSPECT_AFTER_MS = 3_000;

/**
 * Silence after which a live session is taken for dead by either side, in ms: two missed pings. Source:
 * docs/architecture/sessions.md.
 */
export const SESSION_SILENCE_MS_MAX = 20_000;

/** A session must have said hello within this time, in ms. */
export const HELLO_MS_MAX = 10_000;

/** The agent reports its health this often, in ms; the admin calls it late after 30 s. Source: docs/health.md. */
export const REPORT_INTERVAL_MS = 10_000;

/**
 * How often an agent on a metered link says that it is there, and repeats a report in which nothing changed, in ms. A
 * ping and its answer take some 330 bytes with TLS, TCP and IP: 0.5 MB a day. Source: test/unit/agent/session/
 * metered.test.ts.
 */
export const METERED_PING_MS = 60_000;
export const METERED_REPORT_MS = 600_000;

/** Bytes waiting in a socket above which its sender stops. Source: docs/architecture/sessions.md. */
export const SOCKET_BUFFERED_BYTES_MAX = 1_048_576;

/** Reconnect back-off of the agent, in ms. Source: docs/architecture/sessions.md. */
export const RECONNECT_MS_MIN = 500;
export const RECONNECT_MS_MAX = 30_000;

/**
 * An agent must have opened the tunnel that it was asked for within this time, in ms. Its token is good for as long.
 */
export const TUNNEL_OPEN_MS_MAX = 10_000;

/** A tunnel without a stream is closed after this, in ms. */
export const TUNNEL_IDLE_MS = 60_000;

/**
 * What an admin may be set to, in ms: a day of silence in a proxied connection, and 30 days of its life. It decides;
 * agents cut what is beyond.
 */
export const PROXIED_IDLE_MS_MAX = 86_400_000;
export const PROXIED_LIFE_MS_MAX = 2_592_000_000;

/**
 * Smallest packets of SSH that either side may ask of the other, in bytes. With 0 ssh2 would write for ever, and with 1
 * a packet a byte; clients ask for 1,024 and more.
 */
export const SSH_PACKET_BYTES_MIN = 256;

/** Characters of a user name that an SSH client may try. Real ones have 32. */
export const SSH_USERNAME_CHARS_MAX = 64;

/** Characters of a password that an SSH client may try. Real ones have 128. */
export const SSH_PASSWORD_CHARS_MAX = 1_024;

/** Base64 characters of a public key that an SSH client may offer: an RSA key of 16,384 bits fits. */
export const SSH_KEY_CHARS_MAX = 4_096;

/** Live SSH sessions that an agent names at once. */
export const SSH_GRANTS_MAX = 256;

/** Smallest and largest exit code of a result. Source: docs/commands.md; wait(2) knows none beyond 255. */
export const EXIT_CODE_MIN = -1;
export const EXIT_CODE_MAX = 255;

/** Exit codes that this system gives itself. Source: docs/commands.md. */
export const EXIT_TIMED_OUT = 124;
export const EXIT_INTERRUPTED = 137;
export const EXIT_CANCELLED = 143;

/** Longest reason why an update was refused or taken back, in characters: the end of a log fits. */
export const UPDATE_ERROR_CHARS_MAX = 4_096;

/** Longest version of an agent that is told, in characters. */
export const UPDATE_VERSION_CHARS_MAX = 64;
