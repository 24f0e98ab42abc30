/**
 * Input against an operation's schema: a wrong body is `validation_failed`, a wrong path or query `bad_request`, on
 * every surface.
 */
import type { z } from 'zod';
import { ok, refuse, type Refusal, type Result } from '../../actors/refusal.ts';
import { IN_WORDS } from './issue-words.ts';
import { pathParameters, type AnyOperation } from '../operation.ts';
import { schemaOf } from '../schemas.ts';

/** Most messages that one refusal carries: an array of ten thousand wrong ids does not get ten thousand answers. */
const MESSAGES_MAX = 50;

/** Longest field name that a refusal repeats, in characters. */
const FIELD_CHARACTERS_MAX = 128;

/**
 * An input that its surface could not even put together: a query where none belongs, a body that is no object. Refused
 * only after its caller was let in.
 */
export class Malformed {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    this.refusal = refusal;
  }
}

/**
 * The parsed input of an operation, or which field is wrong and why. No input at all counts as an empty object; null
 * does not.
 */
export function parse<O extends AnyOperation>(operation: O, rawInput: unknown): Result<z.output<O['input']>> {
  if (rawInput instanceof Malformed) return { ok: false, refusal: rawInput.refusal };
  const parsed = operation.input.safeParse(rawInput === undefined ? {} : rawInput, IN_WORDS);
  if (parsed.success) return ok(parsed.data as z.output<O['input']>);

  const { issues } = parsed.error;
  return issues.every((issue) => isInBody(operation, issue))
    ? refuse('validation_failed', 'Validation failed', detailsOf(issues, operation.input))
    : refuse('bad_request', 'Malformed parameter', detailsOf(issues, operation.input));
}

function isInBody({ rest, kind }: AnyOperation, { path: [field] }: z.core.$ZodIssue): boolean {
  if (rest === null) return kind === 'mutation';
  return rest.method !== 'GET' && (field === undefined || !pathParameters(rest.path).includes(String(field)));
}

/** Names that schemas know, made once each. */
const FIELDS = new WeakMap<z.ZodType, readonly string[]>();

function fieldsOf(schema: z.ZodType): readonly string[] {
  const known = FIELDS.get(schema) ?? Object.keys(schemaOf(schema, 'input').properties ?? {});
  FIELDS.set(schema, known);
  return known;
}

/** An unknown field, and the one that was meant where it is a filter without its operator. */
function unknownField(name: string, known: readonly string[]): string {
  const meant = known.filter((field) => field.startsWith(`${name}__`));
  return meant.length === 0 ? 'is not known' : `is not known; there is ${meant.join(', ')}`;
}

/** Dotted path → messages of what is wrong by a schema. What concerns the whole input is under `input`. */
export function detailsOf(issues: readonly z.core.$ZodIssue[], schema: z.ZodType): Record<string, readonly string[]> {
  const messages = new Map<string, string[]>();
  const add = (path: readonly PropertyKey[], message: string) => {
    const field = path.map(String).join('.').slice(0, FIELD_CHARACTERS_MAX).toWellFormed() || 'input';
    const known = messages.get(field);
    if (known === undefined) messages.set(field, [message]);
    else if (!known.includes(message)) known.push(message);
  };
  for (const issue of issues.slice(0, MESSAGES_MAX)) {
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys.slice(0, MESSAGES_MAX))
        add([...issue.path, key], issue.path.length === 0 ? unknownField(key, fieldsOf(schema)) : 'is not known');
    else add(issue.path, issue.message);
  }
  return Object.fromEntries(messages);
}
