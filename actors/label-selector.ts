/**
 * Selectors of labels, in the grammar of Kubernetes: `env=prod,tier!=db,zone in (a,b),zone notin (c),gpu,!gpu`. Parsed
 * and matched here alone; persistence makes SQL of what was parsed. Pure. Source:
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
 */
import {
  isLabelKey,
  isLabelValue,
  LABEL_KEY_PATTERN,
  LABEL_VALUE_PATTERN,
  type Labels,
} from '../transport/protocol/labels.ts';

/** Requirements of one selector, and values of one requirement, at most. */
export const SELECTOR_REQUIREMENTS_MAX = 32;
export const SELECTOR_VALUES_MAX = 64;

/** Characters of a selector: every requirement with a long key and a value, or a few with many. */
export const SELECTOR_CHARS_MAX = 8_192;

/**
 * One thing that is asked of the labels of a node. `in`: the key is there with one of the values; `notin`: it is not,
 * so also where there is no such key.
 */
export type Requirement =
  | { readonly op: 'in' | 'notin'; readonly key: string; readonly values: readonly string[] }
  | { readonly op: 'exists' | 'absent'; readonly key: string };

/** All of them must hold. */
export type Selector = readonly Requirement[];

/** A selector, or in one sentence what is wrong with its text, and where. */
export type ParsedSelector =
  | { readonly ok: true; readonly selector: Selector }
  | { readonly ok: false; readonly problem: string };

const GAP = '[ \\t]*';
const VALUE = `(?:${LABEL_VALUE_PATTERN})?`;
const MORE_VALUES = `(?:,${GAP}${VALUE}${GAP})`;
/** A set of the empty value alone is none. */
const VALUES = `(?:${LABEL_VALUE_PATTERN}${GAP}${MORE_VALUES}{0,${SELECTOR_VALUES_MAX - 1}}|${MORE_VALUES}{1,${SELECTOR_VALUES_MAX - 1}})`;
const SET = `[ \\t]+(?:in|notin)${GAP}\\(${GAP}${VALUES}\\)`;
const REQUIREMENT = `(?:!${GAP}${LABEL_KEY_PATTERN}|${LABEL_KEY_PATTERN}(?:${GAP}(?:==?|!=)${GAP}${VALUE}|${SET})?)`;

/**
 * The same as one pattern, for whoever describes it to machines: what fits it is a selector, but for prefixes of keys
 * that are too long.
 */
export const SELECTOR_PATTERN = `^${GAP}${REQUIREMENT}${GAP}(?:,${GAP}${REQUIREMENT}${GAP}){0,${SELECTOR_REQUIREMENTS_MAX - 1}}$`;

/** Reads a selector. */
export function parseSelector(text: string): ParsedSelector {
  try {
    return { ok: true, selector: new Reader(text).selector() };
  } catch (error) {
    if (error instanceof Wrong) return { ok: false, problem: error.message };
    throw error;
  }
}

/** Whether a node with these labels is meant. */
export function matchesSelector(labels: Labels, selector: Selector): boolean {
  return selector.every((requirement) => {
    const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
    switch (requirement.op) {
      case 'exists':
        return value !== undefined;
      case 'absent':
        return value === undefined;
      case 'in':
        return value !== undefined && requirement.values.includes(value);
      case 'notin':
        return value === undefined || !requirement.values.includes(value);
      default:
        return requirement satisfies never;
    }
  });
}

/** Why a text is no selector. Never leaves this file. */
class Wrong extends Error {
  constructor(token: Token, problem: string) {
    super(`character ${token.at + 1}: ${problem}`);
  }
}

/** A word, a sign, or the end (an empty text); `at` is its first character. */
interface Token {
  readonly text: string;
  readonly at: number;
  readonly isWord: boolean;
}

const SIGNS = /==|!=|[=!(),<>]/uy;
const WORD = /[^=!(),<>\t ]+/uy;
const SPACE = /[\t ]*/uy;

/** Longest piece of what was given that a sentence repeats, in characters. */
const REPEATED_CHARS_MAX = 64;

class Reader {
  readonly #text: string;
  #next: Token;

  constructor(text: string) {
    this.#text = text;
    this.#next = this.#tokenAt(0);
  }

  selector(): Selector {
    const requirements: Requirement[] = [];
    for (;;) {
      if (requirements.length === SELECTOR_REQUIREMENTS_MAX)
        throw new Wrong(this.#next, `there are more than ${SELECTOR_REQUIREMENTS_MAX} requirements`);
      requirements.push(this.#requirement());
      const separator = this.#take();
      if (separator.text === '') return requirements;
      if (separator.text !== ',')
        throw new Wrong(separator, `a comma or the end should stand here, not ${said(separator)}`);
    }
  }

  #requirement(): Requirement {
    if (this.#next.text === '!' && !this.#next.isWord) {
      this.#take();
      return { op: 'absent', key: this.#key() };
    }
    const key = this.#key();
    const { text, isWord } = this.#next;
    if (text === '' || text === ',') return { op: 'exists', key };
    const operator = this.#take();
    if (text === '=' || text === '==') return { op: 'in', key, values: [this.#value()] };
    if (text === '!=') return { op: 'notin', key, values: [this.#value()] };
    if (isWord && (text === 'in' || text === 'notin')) return { op: text, key, values: this.#values() };
    throw new Wrong(operator, `=, !=, in, notin or a comma should stand here, not ${said(operator)}`);
  }

  #key(): string {
    const token = this.#take();
    if (!token.isWord) throw new Wrong(token, `the key of a label should stand here, not ${said(token)}`);
    if (!isLabelKey(token.text)) throw new Wrong(token, `${said(token)} is no key of a label`);
    return token.text;
  }

  /** It may be empty. */
  #value(): string {
    if (!this.#next.isWord) return '';
    const token = this.#take();
    if (!isLabelValue(token.text)) throw new Wrong(token, `${said(token)} is no value of a label`);
    return token.text;
  }

  #values(): readonly string[] {
    const open = this.#take();
    if (open.text !== '(') throw new Wrong(open, `( should stand here, not ${said(open)}`);
    if (this.#next.text === ')') throw new Wrong(this.#next, 'there is no value between the parentheses');
    const values: string[] = [];
    for (;;) {
      if (values.length === SELECTOR_VALUES_MAX)
        throw new Wrong(this.#next, `there are more than ${SELECTOR_VALUES_MAX} values`);
      values.push(this.#value());
      const separator = this.#take();
      if (separator.text === ')') return [...new Set(values)];
      if (separator.text !== ',') throw new Wrong(separator, `, or ) should stand here, not ${said(separator)}`);
    }
  }

  #take(): Token {
    const taken = this.#next;
    this.#next = this.#tokenAt(taken.at + taken.text.length);
    return taken;
  }

  #tokenAt(from: number): Token {
    SPACE.lastIndex = from;
    const at = from + (SPACE.exec(this.#text)?.[0].length ?? 0);
    for (const [pattern, isWord] of [
      [WORD, true],
      [SIGNS, false],
    ] as const) {
      pattern.lastIndex = at;
      const found = pattern.exec(this.#text);
      if (found !== null) return { text: found[0], at, isWord };
    }
    return { text: '', at, isWord: false };
  }
}

function said({ text }: Token): string {
  if (text === '') return 'the end';
  return `"${text.length > REPEATED_CHARS_MAX ? `${text.slice(0, REPEATED_CHARS_MAX - 1).toWellFormed()}…` : text}"`;
}
