/**
 * Labels of nodes: keys and values in the syntax and within the limits of Kubernetes. Source:
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */
import { z } from 'zod';
import { wireText } from './text.ts';

/** Labels of one node, at most. */
export const LABELS_MAX = 64;

/** Characters of a key's name and of a value, and of the prefix of a key. Source: as above. */
const NAME_CHARS_MAX = 63;
const PREFIX_CHARS_MAX = 253;

/** Characters of a whole key: prefix, slash, name. */
export const LABEL_KEY_CHARS_MAX = PREFIX_CHARS_MAX + 1 + NAME_CHARS_MAX;

/**
 * Letters, digits, `-`, `_` and `.`, a letter or digit at both ends. Written for any dialect: `\w` is ASCII in some.
 */
const NAME = `[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,${NAME_CHARS_MAX - 2}}[A-Za-z0-9])?`;

/** One label of a DNS name, in lower case. */
const DNS_LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';

/**
 * Keys and values that are not empty as patterns without anchors, to be put into larger ones. The bound of a prefix is
 * not in it.
 */
export const LABEL_KEY_PATTERN = `(?:${DNS_LABEL}(?:\\.${DNS_LABEL})*/)?${NAME}`;
export const LABEL_VALUE_PATTERN = NAME;

const KEY = new RegExp(`^${LABEL_KEY_PATTERN}$`, 'u');
const VALUE = new RegExp(`^(?:${LABEL_VALUE_PATTERN})?$`, 'u');

const KEY_WORDS =
  'must be a label key: up to 63 letters, digits, "-", "_" and ".", a letter or digit at both ends, and in front of it, where wanted, a domain name and "/"';
const VALUE_WORDS =
  'must be a label value: empty, or up to 63 letters, digits, "-", "_" and ".", a letter or digit at both ends';

/** Whether this may be the key of a label. */
export function isLabelKey(text: string): boolean {
  return text.indexOf('/') <= PREFIX_CHARS_MAX && KEY.test(text);
}

/** Whether this may be the value of a label. */
export function isLabelValue(text: string): boolean {
  return text.length <= NAME_CHARS_MAX && VALUE.test(text);
}

/** `env`, `example.com/tier`. */
export const LabelKey = wireText().max(LABEL_KEY_CHARS_MAX).regex(KEY, KEY_WORDS).refine(isLabelKey, KEY_WORDS);

/** `prod`, or nothing. */
export const LabelValue = wireText().max(NAME_CHARS_MAX).regex(VALUE, VALUE_WORDS);

/** Labels of a node by their keys, at most LABELS_MAX. */
export const Labels = z
  .record(LabelKey, LabelValue)
  .refine((labels) => Object.keys(labels).length <= LABELS_MAX, `must be at most ${LABELS_MAX} labels`)
  .meta({ maxProperties: LABELS_MAX });
export type Labels = Readonly<z.infer<typeof Labels>>;

/** No labels. One object for all nodes without. */
export const NO_LABELS: Labels = {};

/** Labels written as `env=prod,zone=a`; null where one is none, a key comes twice, or there are too many. */
export function labelsOf(text: string): Labels | null {
  const pairs = text
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=');
      return at < 0 ? null : ([pair.slice(0, at), pair.slice(at + 1)] as const);
    });
  if (pairs.some((pair) => pair === null || !isLabelKey(pair[0]) || !isLabelValue(pair[1]))) return null;
  const labels = Object.fromEntries(pairs.filter((pair) => pair !== null));
  return Object.keys(labels).length === pairs.length && pairs.length <= LABELS_MAX ? labels : null;
}

/** Whether both are the same labels. */
export function isSameLabels(one: Labels, other: Labels): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
