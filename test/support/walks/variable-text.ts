/**
 * What a walk shows that is another at each run: by name, what it looks like, and what stands for it. What stands in
 * tables is replaced by something of the same width.
 */
import { hostname } from 'node:os';
import packageFile from '../../../package.json' with { type: 'json' };

/** What is known of one walk. */
export interface Known {
  readonly url: string;
  readonly home: string;
}

/** One kind of text that varies. */
interface Pattern {
  readonly looksLike: RegExp;
  readonly becomes: (found: string) => string;
}

/** A text as wide as the other. */
const asWide = (text: string) => (found: string) =>
  text.padEnd(found.length).slice(0, Math.max(found.length, text.length));

const PATTERNS: Readonly<Record<string, Pattern>> = {
  'instant of ISO 8601, also where it is cut': {
    looksLike: /\b\d{4}-\d\d-\d\dT[\d:.]*Z?/gu,
    becomes: (found) => '2026-01-02T03:04:05.678Z'.slice(0, found.length),
  },
  'time of day': { looksLike: /\b\d\d:\d\d:\d\d\b(?!\.)/gu, becomes: () => '03:04:05' },
  'age in a table': { looksLike: /(?<=^.*\S {2,})\d{1,3}[sm](?: {1,2}(?= )|$|(?= ))/gmu, becomes: asWide('2s') },
  'age in a sentence': { looksLike: /(?<=(?:for|since|after|within) )\d+(?:\.\d+)? ?m?s\b/gu, becomes: () => '2s' },
  'what somebody is told who waits, as a busy machine is late': {
    looksLike: /^edge: (?:waiting for .* not connected|Ctrl-C cancels, and --expires) .*\n/gmu,
    becomes: () => '',
  },
  'how long something took': { looksLike: /\b\d+\.\d s\b|(?<=, )\d+ s(?= \()/gu, becomes: () => '0.2 s' },
  'how long ago': { looksLike: /\b\d+(?= s ago\b)|(?<=seconds_ago=)\d+/gu, becomes: () => '2' },
  'round trip': { looksLike: /\b\d+ ms\b/gu, becomes: () => '3 ms' },
  'address and port of this machine': { looksLike: /127\.0\.0\.1:\d+/gu, becomes: () => '127.0.0.1:45678' },
  'fingerprint of a key': { looksLike: /SHA256:[\w+/]{43}/gu, becomes: () => `SHA256:${'x'.repeat(43)}` },
  'public key': { looksLike: /AAAAC3NzaC1lZDI1NTE5[\w+/]{48}/gu, becomes: () => 'AAAAC3NzaC1lZDI1NTE5…' },
  'enrolment key': { looksLike: /\beyJ[\w-]{80,}/gu, becomes: () => 'eyJ…' },
  'number of a process': { looksLike: /(?<=process |"pid":)\d+/gu, becomes: () => '4711' },
};

/** Ids, of any kind, and the beginnings by which they are named. */
const ID = /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gu;
const SHORT_ID = /\b(?=[\da-f]*\d)[\da-f]{8}(?:-[\da-f]{4})?\b(?!-)/gu;

/** The name of this machine, where it stands by itself: keys and fingerprints have such letters too. */
const HOST = new RegExp(String.raw`(?<![\w+])${hostname().replaceAll('.', String.raw`\.`)}(?![\w+])`, 'gu');

/** The whole text of one walk as it is at each run. Each id has its number, by which it is known everywhere in it. */
export function steadied(text: string, { url, home }: Known): string {
  const ids = [...new Set([...text.matchAll(ID)].map(([id]) => id))];
  const numberOf = (beginning: string): string => {
    let place = ids.findIndex((id) => id.startsWith(beginning));
    if (place < 0) place = ids.push(beginning) - 1;
    return String(place + 1).padStart(8, '0');
  };
  const numbered = text
    .replaceAll(url, 'http://admin:44000')
    .replaceAll(home, '/home/ada')
    .replaceAll(HOST, 'this-machine')
    .replaceAll(packageFile.version, asWide('1.2.3'))
    .replaceAll(SHORT_ID, (id) => `${numberOf(id)}${id.slice(8).replaceAll(/[\da-f]/gu, '0')}`)
    .replaceAll(ID, (id) => (ids.includes(id) ? `${numberOf(id)}-0000-4000-8000-000000000000` : id));
  return Object.values(PATTERNS).reduce(
    (steady, { looksLike, becomes }) => steady.replaceAll(looksLike, becomes),
    numbered,
  );
}
