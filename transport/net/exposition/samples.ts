/** Reads single metrics out of an exposition that was checked (see syntax.ts): for those who want numbers, not text. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SAMPLES_OF_METRIC_MAX } from './limits.ts';

/** One sample of a metric. */
export interface Sample {
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** Samples by the name of their metric, in the order in which they came. */
export type Samples = ReadonlyMap<string, readonly Sample[]>;

const LABEL = /(?<name>[a-z_]\w*)[ \t]*=[ \t]*"(?<value>(?:[^"\\]|\\.)*)"/giu;
const ESCAPE = /\\(?<what>.)/gu;

/**
 * Characters that are read in one turn of the event loop: 1 to 10 ms, by what stands there. Source: measured with 4 MiB
 * of escaped labels.
 */
const TURN_CHARACTERS = 32_768;

/**
 * The samples of the metrics that are wanted, at most SAMPLES_OF_METRIC_MAX of each; those that are not there are not
 * among them. Every other line is passed over.
 */
export function samplesOf(text: string, wanted: ReadonlySet<string>): Samples {
  const reading = readingOf(text, wanted);
  for (;;) {
    const turn = reading.next();
    if (turn.done === true) return turn.value;
  }
}

/** The same for a text of a stranger, which may be long and hard to read: others have their turns in between. */
export async function samplesInTurns(text: string, wanted: ReadonlySet<string>): Promise<Samples> {
  const reading = readingOf(text, wanted);
  for (;;) {
    const turn = reading.next();
    if (turn.done === true) return turn.value;
    await nextTurn();
  }
}

function* readingOf(text: string, wanted: ReadonlySet<string>): Generator<undefined, Samples> {
  const found = new Map<string, Sample[]>();
  let turnEnd = TURN_CHARACTERS;
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\n', from);
    const to = end < 0 ? text.length : end;
    const name = nameIn(text, from, to);
    if (wanted.has(name)) {
      const samples = found.get(name) ?? [];
      if (samples.length < SAMPLES_OF_METRIC_MAX)
        samples.push(sampleIn(text.slice(from, to).trim().slice(name.length)));
      found.set(name, samples);
    }
    from = to + 1;
    if (from < turnEnd) continue;
    turnEnd = from + TURN_CHARACTERS;
    yield;
  }
  return found;
}

function nameIn(text: string, from: number, to: number): string {
  let begin = from;
  while (begin < to && (text[begin] === ' ' || text[begin] === '\t')) begin += 1;
  if (text[begin] === '#') return '';
  let at = begin;
  while (at < to && text[at] !== '{' && text[at] !== ' ' && text[at] !== '\t') at += 1;
  return text.slice(begin, at);
}

/** What follows the name. */
function sampleIn(rest: string): Sample {
  const close = rest.trimStart().startsWith('{') ? closeOf(rest) : -1;
  const labels = new Map<string, string>();
  if (close > 0)
    for (const { groups } of rest.slice(0, close).matchAll(LABEL))
      labels.set(groups?.['name'] ?? '', unescaped(groups?.['value'] ?? ''));
  return {
    labels,
    value: numberOf(
      rest
        .slice(close + 1)
        .trim()
        .split(/[ \t]/u, 1)[0] ?? '',
    ),
  };
}

/** The brace that closes the labels: none inside a value does. */
function closeOf(rest: string): number {
  let isQuoted = false;
  for (let at = 0; at < rest.length; at += 1) {
    if (rest[at] === '\\') at += 1;
    else if (rest[at] === '"') isQuoted = !isQuoted;
    else if (rest[at] === '}' && !isQuoted) return at;
  }
  return rest.length;
}

function unescaped(value: string): string {
  return value.includes('\\')
    ? value.replaceAll(ESCAPE, (_whole, what: string) => (what === 'n' ? '\n' : what))
    : value;
}

function numberOf(word: string): number {
  const number = Number(word);
  if (!Number.isNaN(number)) return number;
  return /^[+-]?inf/iu.test(word) ? (word.startsWith('-') ? -Infinity : Infinity) : Number.NaN;
}
