/** Every bound of the console's sessions, with its unit. Source: docs/architecture/console.md. */

/** A session that nobody uses is over after this, in ms. What a page does by itself is no use. */
export const SESSION_IDLE_MS_MAX = 1_800_000;

/** A session is over after this, however much it is used, in ms. */
export const SESSION_AGE_MS_MAX = 43_200_000;

/** When a session is over, for whoever deletes what is. */
export const SESSION_AGES = { idleMsMax: SESSION_IDLE_MS_MAX, ageMsMax: SESSION_AGE_MS_MAX };

/** Sessions that are stored; at one more, that which was longest unused is over. */
export const SESSIONS_MAX = 1_000;

/** Random bytes of a session's token. Source: OWASP ASVS 5, 7.2.3 asks for 128 bits. */
export const SESSION_TOKEN_BYTES = 32;

/** What is kept of a User-Agent header, in characters. */
export const USER_AGENT_CHARACTERS_MAX = 256;

/** How often sessions are looked at whose pages are connected, in ms: one that was revoked is cut within 1 s (E5). */
export const SESSION_LOOK_MS = 500;

/**
 * So many looks in a row that are not answered, 3 s of them, are a database that is away: pages are cut then, so that
 * they say that what they show is of before. Above what a busy database takes for a look.
 */
export const LOOKS_MISSED_MAX = 6;

/** Largest body of the console's own routes, in bytes: a key has 512 characters at most. */
export const SIGN_IN_BODY_BYTES_MAX = 2_048;

/** So long another admin has to send a file of its console, in ms, and so many admins are asked for one. */
export const ASSET_MS_MAX = 2_000;
export const ASSET_ADMINS_ASKED_MAX = 3;

/** Largest file of another admin, in bytes as it is and compressed: thrice the largest of now. */
export const ASSET_BYTES_MAX = 1_048_576;

/**
 * Files of other admins that are kept, in number with those that no admin has, and in bytes; for how long, in ms, and
 * for how long it is remembered that none has one. A build has some hundred, of 1.4 MB in all three forms.
 */
export const ASSETS_KEPT_MAX = 512;
export const ASSETS_KEPT_BYTES_MAX = 8_388_608;
export const ASSET_KEPT_MS = 600_000;
export const ASSET_MISSED_MS = 5_000;

/** Files that other admins are asked for, by all clients in one go and a second, and by one address in a minute. */
export const ASSETS_ASKED_AT_ONCE_MAX = 256;
export const ASSETS_ASKED_PER_SECOND_MAX = 16;
export const ASSETS_ASKED = { tokensMax: ASSETS_ASKED_AT_ONCE_MAX, tokensPerSecond: ASSETS_ASKED_PER_SECOND_MAX };
export const ASSETS_ASKED_BY_ONE_PER_MINUTE_MAX = 240;
export const ASSETS_ASKED_BY_ONE = {
  perWindowMax: ASSETS_ASKED_BY_ONE_PER_MINUTE_MAX,
  windowMs: 60_000,
  keysMax: 10_000,
};
