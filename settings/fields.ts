/**
 * The kinds of value that a setting may have, each taking the text of an environment variable. Add `.default(…)`,
 * `.optional()` and `.describe(…)`.
 */
import { z } from 'zod';
import { isWeakKey } from './weak-keys.ts';

/** Bounds of a number; both ends are allowed. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

const DURATION_UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Text of `min` to `max` characters, trimmed. `expected` says in words what else it must be, when `pattern` is given.
 */
export function text(
  limits: { readonly min?: number; readonly max?: number; readonly pattern?: RegExp; readonly expected?: string } = {},
) {
  const { min = 1, max = 4_096, pattern = /^/u, expected } = limits;
  return z
    .string()
    .trim()
    .min(min)
    .max(max)
    .regex(pattern)
    .meta({ expected: expected ?? `text of ${min} to ${max} characters` });
}

/**
 * A secret of at most `max` characters, taken exactly as given. It is never printed, and NAME_FILE may name a file that
 * holds it.
 */
export function secret({ max = 4_096 }: { readonly max?: number } = {}) {
  return z
    .string()
    .min(1)
    .max(max)
    .meta({ secret: true, expected: `text of 1 to ${max} characters` });
}

const BEARER_KEY = /^[\u0021-\u007e]{16,512}$/u;

/** A secret that callers send in a header: printable ASCII without spaces, of at least 16 characters. */
export function bearerKey() {
  return secret().regex(BEARER_KEY).meta({
    secret: true,
    expected: '16 to 512 letters, digits and signs without spaces, as made by: openssl rand -hex 32',
  });
}

/** A bearer key that nobody guesses. One that the first guesses open is refused. */
export function callersKey() {
  return (
    bearerKey()
      // of one that is none, its form is told
      .refine((key) => !BEARER_KEY.test(key) || !isWeakKey(key), {
        params: { expected: 'one that nobody guesses, as made by: openssl rand -hex 32' },
      })
      .meta({
        secret: true,
        expected: '16 to 512 letters, digits and signs without spaces, as made by: openssl rand -hex 32',
      })
  );
}

/** `true` or `1`, `false` or `0`, in any case. */
export function flag() {
  return z
    .string()
    .trim()
    .toLowerCase()
    .pipe(z.enum(['true', 'false', '1', '0']))
    .transform((value) => value === 'true' || value === '1')
    .meta({ expected: 'true or false' });
}

/** A whole number within bounds, in decimal. */
export function integer(bounds: Bounds) {
  return z
    .string()
    .trim()
    .regex(/^-?\d{1,15}$/u)
    .transform(Number)
    .refine((value) => value >= bounds.min && value <= bounds.max)
    .meta({ expected: `a whole number from ${bounds.min} to ${bounds.max}` });
}

/** A TCP port. 0 lets the system choose a free one. */
export function port() {
  return integer({ min: 0, max: 65_535 });
}

/** One of a few words. */
export function choice<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z
    .string()
    .trim()
    .toLowerCase()
    .pipe(z.enum(words))
    .meta({ expected: `one of ${words.join(', ')}` });
}

/** A duration in ms: a whole number of ms, or with a unit (`500ms`, `30s`, `10m`, `2h`, `7d`). Bounds are in ms. */
export function durationMs(bounds: Bounds) {
  return z
    .string()
    .trim()
    .regex(/^\d{1,12}(ms|s|m|h|d)?$/u)
    .transform(milliseconds)
    .refine((value) => value >= bounds.min && value <= bounds.max)
    .meta({ expected: `a duration from ${bounds.min} to ${bounds.max} ms, such as 30000 or 30s` });
}

function milliseconds(value: string): number {
  const [, amount = '', unit = 'ms'] = /^(\d+)(\D+)?$/u.exec(value) ?? [];
  return Number(amount) * (DURATION_UNITS_MS[unit] ?? Number.NaN);
}

/**
 * One absolute URL of the given protocols (`http:` and `https:` unless said otherwise), as it was written. Where it is
 * told on, nothing of it is lost: it ends with its path.
 */
export function url(protocols: readonly string[] = ['http:', 'https:']) {
  return z
    .string()
    .trim()
    .refine((value) => isUrl(value, protocols) && isBare(new URL(value)))
    .meta({ expected: `a URL that starts with ${starts(protocols)}, without user name, password, query and fragment` });
}

function isBare({ username, password, search, hash }: URL): boolean {
  return [username, password, search, hash].every((part) => part === '');
}

/** Most URLs in one setting. Source: transport/protocol/enrollment.ts, `admin_urls`. */
const URLS_MAX = 32;

/** URLs, comma-separated, in order, without trailing slashes. Never empty; a repeated one is a problem. */
export function urls(protocols: readonly string[] = ['http:', 'https:']) {
  return z
    .string()
    .transform((value) => entries(value).map((entry) => entry.replace(/\/+$/u, '')))
    .refine(
      (list) =>
        list.length > 0 &&
        list.length <= URLS_MAX &&
        new Set(list).size === list.length &&
        list.every((value) => isUrl(value, protocols)),
    )
    .refine((list) => !isWeb(protocols) || list.every((value) => !URL.canParse(value) || isAnonymous(new URL(value))), {
      params: { expected: 'URLs without user name and password' },
    })
    .meta({
      expected: `a comma-separated list of at most ${URLS_MAX} different URLs that start with ${starts(protocols)}`,
    });
}

/**
 * Such URLs are told to others and stand in logs. Those of brokers have settings of their own for credentials, which
 * say so.
 */
function isWeb(protocols: readonly string[]): boolean {
  return protocols.includes('http:');
}

function isAnonymous({ username, password }: URL): boolean {
  return username === '' && password === '';
}

/** Words, comma-separated, in order. Never empty. */
export function list() {
  return z
    .string()
    .transform(entries)
    .refine((words) => words.length > 0)
    .meta({ expected: 'a comma-separated list' });
}

function entries(value: string): string[] {
  return value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function isUrl(value: string, protocols: readonly string[]): boolean {
  return URL.canParse(value) && protocols.includes(new URL(value).protocol) && new URL(value).host !== '';
}

function starts(protocols: readonly string[]): string {
  return protocols.map((protocol) => `${protocol}//`).join(' or ');
}
