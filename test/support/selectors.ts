/** Selectors of labels and sets of labels out of few words, so that they meet; and what a selector means, naively. */
import * as fc from 'fast-check';
import type { Labels } from '../../transport/protocol/labels.ts';

/** Keys of labels. */
export const LABEL_KEYS = ['env', 'zone', 'gpu', 'constructor', 'example.com/tier'] as const;
/** Values of the first key; of the others they are empty, `a` or `b`. */
export const ENVS = ['prod', 'staging', 'dev'] as const;

/** Some of the keys, each with a value of its own. */
export function labelSets(): fc.Arbitrary<Labels> {
  const one = (key: string) => fc.constantFrom(...(key === 'env' ? ENVS : ['', 'a', 'b']));
  return fc
    .subarray([...LABEL_KEYS])
    .chain((keys) => fc.tuple(...keys.map((key) => one(key).map((value) => [key, value] as const))))
    .map((pairs): Labels => Object.fromEntries(pairs));
}

/** Selectors of these labels, and of some that there are not. */
export function selectors(): fc.Arbitrary<string> {
  const key = fc.constantFrom(...LABEL_KEYS, 'absent');
  const value = fc.constantFrom(...ENVS, '', 'a', 'b', 'nothing');
  const requirement = fc.oneof(
    fc.tuple(key, fc.constantFrom('=', '==', '!=', ' = '), value).map((parts) => parts.join('')),
    fc
      .tuple(key, fc.constantFrom('in', 'notin'), fc.array(value, { minLength: 2, maxLength: 7 }))
      .map(([of, operator, values]) => `${of} ${operator} (${values.join(', ')})`),
    key,
    key.map((of) => `!${of}`),
  );
  return fc.array(requirement, { minLength: 1, maxLength: 4 }).map((all) => all.join(','));
}

/** One requirement after the other, by string operations alone: no parser that could be wrong in the same way. */
export function naivelyMatches(labels: Labels, selector: string): boolean {
  return selector
    .replaceAll(/\(([^)]*)\)/gu, (_whole, values: string) => `(${values.replaceAll(',', ';')})`)
    .split(',')
    .every((requirement) => naivelyHolds(new Map(Object.entries(labels)), requirement.trim()));
}

function naivelyHolds(labels: ReadonlyMap<string, string>, text: string): boolean {
  const set = /^(?<key>\S+)\s+(?<operator>in|notin)\s*\((?<values>.*)\)$/u.exec(text)?.groups;
  if (set !== undefined) {
    const values = (set['values'] ?? '').split(';').map((value) => value.trim());
    const isIn = values.some((value) => labels.get(set['key'] ?? '') === value);
    return set['operator'] === 'in' ? isIn : !isIn;
  }
  if (text.startsWith('!')) return !labels.has(text.slice(1).trim());
  if (text.includes('!=')) {
    const [key = '', value = ''] = text.split('!=').map((part) => part.trim());
    return labels.get(key) !== value;
  }
  if (!text.includes('=')) return labels.has(text);
  const [key = '', value = ''] = text.split(/==?/u).map((part) => part.trim());
  return labels.get(key) === value;
}
