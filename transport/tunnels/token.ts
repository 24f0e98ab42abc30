/** One-time tokens of tunnels: whoever has one opens the tunnel, and it says which admin waits for that. */
import { randomBytes } from 'node:crypto';

const RANDOM_BYTES = 32;

/** Characters of an id that stand for an admin: the last ones, which are random also where the first are a time. */
const TAG_CHARS = 12;

const TAGGED = /^(?<tag>[\da-f]{12})-[\w-]{43}$/u;

/** What stands for the admin of this id, a UUID, in tokens. */
export function tagOf(adminId: string): string {
  return adminId.slice(-TAG_CHARS);
}

/** A token of the admin that this stands for: 256 random bits behind it. Fits what every agent takes. */
export function newToken(tag: string): string {
  return `${tag}-${randomBytes(RANDOM_BYTES).toString('base64url')}`;
}

/** Which admin waits for this token's tunnel, as it says itself. Null: a token of another form. */
export function tagIn(token: string): string | null {
  return TAGGED.exec(token)?.groups?.['tag'] ?? null;
}
