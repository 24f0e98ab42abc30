/** What is wrong with a field, in a few words that say what it should be: in place of the schema library's own. */
import type { z } from 'zod';

type RawIssue = z.core.$ZodRawIssue;

/** For `safeParse` of anything that a client sent. Words that a schema has of its own come first. */
export const IN_WORDS = { error: (issue: RawIssue): string | undefined => wordsOf(issue) };

function wordsOf(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return sized(issue.origin, 'least', Number(issue.minimum));
    case 'too_big':
      return sized(issue.origin, 'most', Number(issue.maximum));
    case 'invalid_format':
      return FORMATS[issue.format];
    case 'invalid_key':
      return issue.issues[0]?.message;
    case 'custom':
    case 'invalid_element':
    case 'invalid_union':
    case 'not_multiple_of':
      return undefined;
    case 'unrecognized_keys':
      return `must not have ${issue.keys[0]}`;
    default:
      return issue satisfies never;
  }
}

/** By the library's names of types. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  null: 'null',
};

/** By its names of formats; the others' patterns have words of their own. */
const FORMATS: Readonly<Record<string, string>> = {
  uuid: 'must be a UUID',
  guid: 'must be a UUID',
  url: 'must be a URL',
  datetime: 'must be an ISO 8601 date-time with a time zone, such as 2030-01-31T12:00:00Z',
  date: 'must be a date, such as 2030-01-31',
  cidrv4: 'must be an IPv4 range, such as 100.64.0.0/24',
  cidrv6: 'must be an IPv6 range, such as fd12:3456:789a::/64',
};

function sized(origin: string, end: 'least' | 'most', bound: number): string {
  if (origin === 'string')
    return end === 'least' && bound === 1 ? 'must not be empty' : `must be at ${end} ${bound} characters`;
  if (origin === 'array' || origin === 'set')
    return `must have at ${end} ${bound} ${bound === 1 ? 'entry' : 'entries'}`;
  return `must be at ${end} ${bound}`;
}
