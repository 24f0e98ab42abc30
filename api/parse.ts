/** Input against an operation's schema: a wrong body is `validation_failed`, a wrong path or query `bad_request`, on every surface. */
import type { z } from 'zod';
import { ok, refuse, type Refusal, type Result } from '../actors/refusal.ts';
import { pathParameters, type AnyOperation } from './operation.ts';

/** Most messages that one refusal carries: an array of ten thousand wrong ids does not get ten thousand answers. */
const MESSAGES_MAX = 50;

/** Longest field name that a refusal repeats, in characters. */
const FIELD_CHARACTERS_MAX = 128;

/** An input that its surface could not even put together: a query where none belongs, a body that is no object. Refused only after its caller was let in. */
export class Malformed {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    this.refusal = refusal;
  }
}

/** The parsed input of an operation, or which field is wrong and why. No input at all counts as an empty object; null does not. */
export function parse<O extends AnyOperation>(operation: O, rawInput: unknown): Result<z.output<O['input']>> {
  if (rawInput instanceof Malformed) return { ok: false, refusal: rawInput.refusal };
  const parsed = operation.input.safeParse(rawInput === undefined ? {} : rawInput);
  if (parsed.success) return ok(parsed.data as z.output<O['input']>);

  const { issues } = parsed.error;
  return issues.every((issue) => isInBody(operation, issue))
    ? refuse('validation_failed', 'Validation failed', detailsOf(issues))
    : refuse('bad_request', 'Malformed parameter', detailsOf(issues));
}

function isInBody({ rest, kind }: AnyOperation, { path: [field] }: z.core.$ZodIssue): boolean {
  if (rest === null) return kind === 'mutation';
  return rest.method !== 'GET' && (field === undefined || !pathParameters(rest.path).includes(String(field)));
}

/** Dotted path → messages. What concerns the whole input is under `input`. */
export function detailsOf(issues: readonly z.core.$ZodIssue[]): Record<string, readonly string[]> {
  const messages = new Map<string, string[]>();
  const add = (path: readonly PropertyKey[], message: string) => {
    const field = path.map(String).join('.').slice(0, FIELD_CHARACTERS_MAX).toWellFormed() || 'input';
    const known = messages.get(field);
    if (known === undefined) messages.set(field, [message]);
    else if (!known.includes(message)) known.push(message);
  };
  for (const issue of issues.slice(0, MESSAGES_MAX)) {
    if (issue.code === 'unrecognized_keys') for (const key of issue.keys.slice(0, MESSAGES_MAX)) add([...issue.path, key], 'is not known');
    else if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) add(issue.path, 'is required');
    else add(issue.path, issue.message);
  }
  return Object.fromEntries(messages);
}
