/** Keys that the first guesses open, whatever their length. */

/** Fewest different characters of a key: 32 hexadecimal digits at random have fewer than six once in 10^12. */
const DIFFERENT_CHARACTERS_MIN = 6;

/** Longest piece of which a key may not be a repetition, in characters. */
const REPEATED_CHARACTERS_MAX = 8;

/** What is typed in a row, upwards and downwards. */
const ROWS = [
  '0123456789',
  '1234567890',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiopasdfghjklzxcvbnm',
  '0123456789abcdef',
].flatMap((row) => [row, row.split('').reverse().join('')]);

/**
 * Words that manuals and examples put where a key belongs, apart from digits; `passw0rd` is `passwrd` then. None begins
 * as two others do, so that it is read in one pass.
 */
const WORDS =
  /^(?:change|me|it|pass|word|passwd|passwrd|passwort|secret|super|admin|administrator|master|key|api|token|default|example|demo|test|letmein|welcome|qwerty|please|replace|insert|your|my|here|this|with|root|user|login|edge)+$/u;

/** Digits with which such words are made to look better. */
const DIGITS_AMONG_WORDS_MAX = 6;

/**
 * Whether a key is one of those: a few characters, a short piece again and again, a row of the keyboard, or words of
 * examples alone.
 */
export function isWeakKey(key: string): boolean {
  const plain = key.toLowerCase().replaceAll(/[^a-z\d]/gu, '');
  return (
    new Set(key).size < DIFFERENT_CHARACTERS_MIN ||
    isRepetition(key) ||
    isRepetition(plain) ||
    isRow(plain) ||
    isWords(plain)
  );
}

function isRepetition(text: string): boolean {
  for (let length = 1; length <= REPEATED_CHARACTERS_MAX && length * 2 <= text.length; length += 1) {
    if (
      text
        .slice(length)
        .split('')
        .every((character, at) => character === text[at])
    )
      return true;
  }
  return false;
}

function isWords(text: string): boolean {
  const letters = text.replaceAll(/\d/gu, '');
  return text.length - letters.length <= DIGITS_AMONG_WORDS_MAX && WORDS.test(letters);
}

/** Also where it goes on from its beginning. */
function isRow(text: string): boolean {
  return text !== '' && ROWS.some((row) => row.repeat(Math.ceil(text.length / row.length) + 1).includes(text));
}
