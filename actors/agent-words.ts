/** Words of an agent, which may be anybody's, as they may be shown to anyone (R3). */
import { addressClass } from '../transport/net/addresses.ts';

/**
 * What looks like an address: `::` or five colons among hex digits, with a zone, or four numbers. A time of day has two
 * colons.
 */
const ADDRESSES = /(?=[\da-f:.]*::|(?:[\da-f]*:){5})[\da-f:.]+(?:%[\w.-]+)?|\d{1,3}(?:\.\d{1,3}){3}/giu;

/** What stands in place of one. */
const ADDRESS = '(address)';

/**
 * Without addresses, without what terminals obey and PostgreSQL cannot hold, and not longer than so many characters.
 */
export function shownWords(text: string, charsMax: number): string {
  return cutWords(plain(text).replaceAll(ADDRESSES, ADDRESS), charsMax);
}

/**
 * The same of a version: four numbers are one there, unless they are an address that only networks of somebody's own
 * have. The kernel of WSL 2 is called 5.15.167.4-microsoft-standard-WSL2.
 */
export function shownVersion(text: string, charsMax: number): string {
  return cutWords(
    plain(text).replaceAll(ADDRESSES, (match) => (addressClass(match) === 'global' ? match : ADDRESS)),
    charsMax,
  );
}

/** At most so many characters, and no half of one. */
export function cutWords(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1)}…`.toWellFormed();
}

function plain(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are what is taken out
  return text.replaceAll(/[\u0000-\u001F\u007F-\u009F\u2028\u2029]+/gu, ' ').toWellFormed();
}
