/**
 * Schemas of tools, made short: an assistant reads all of them before its first call. What they leave out is refused by
 * the operation itself, in words. Why, and how much of what: docs/decisions/mcp-schemas.md.
 */
import type { Keyed } from '../idempotency.ts';
import type { AnyOperation } from '../operation.ts';
import { inputSchema, outputSchema, type JsonSchema } from '../schemas.ts';

/**
 * Patterns up to this length say something to a reader, such as that of a name; longer ones only check. In characters.
 */
const PATTERN_CHARS_MAX = 40;

/** Numbers and lengths beyond these bound a column, not a wish. */
const TELLING_NUMBER_MAX = 1_000_000;
const TELLING_LENGTH_MAX = 256;

/** Keywords that narrow down what nobody sends by mistake, or that repeat what a description says. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'default',
  'examples',
  'maxItems',
  'minItems',
  'not',
  'oneOf',
  'propertyNames',
]);

/** What pages of lists are asked for by. The instructions of the server say it of all of them. */
const PAGE_FIELDS: ReadonlySet<string> = new Set(['page', 'page_size', 'sort']);

/** What a create is sent again under. The instructions of the server say it of all of them. */
const RETRY_FIELD: [keyof Keyed, JsonSchema] = ['idempotency_key', { type: 'string' }];

/** Objects of more bytes that several tools take are told once. */
const TOLD_ONCE_BYTES_MIN = 400;

/** The tool that tells them, where it takes them: an assistant needs it before the others. */
const FIRST_TELLER = 'create_command';

/**
 * What tools take, by their names. Each allows all that its operation takes and has every field, with its type, its
 * words and its description; bounds that only check are left out. Creates also have the key of their retries, since
 * many clients send no field that is not in the schema.
 */
export function toolInputs(operations: readonly AnyOperation[]): ReadonlyMap<string, ToolInput> {
  const tellers = new Map<string, string>();
  const inTelling = operations.toSorted(
    (one, other) => Number(other.name === FIRST_TELLER) - Number(one.name === FIRST_TELLER),
  );
  return new Map(inTelling.map((operation) => [operation.name, toolInput(operation, tellers)]));
}

/** `tellers`: the tools that told of a schema already, by its text. */
function toolInput(operation: AnyOperation, tellers: Map<string, string>): ToolInput {
  const { properties = {}, ...input } = shortened(inputSchema(operation));
  const fields = Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(
    ([name, schema]): [string, JsonSchema] => [
      name,
      PAGE_FIELDS.has(name) ? withoutDescription(schema) : toldOnce(schema, operation.name, tellers),
    ],
  );
  if (operation.creates) fields.push(RETRY_FIELD);
  return { ...input, type: 'object', ...(fields.length > 0 && { properties: Object.fromEntries(fields) }) };
}

function withoutDescription(schema: JsonSchema): JsonSchema {
  return { ...schema, description: undefined };
}

/** What a tool takes: always an object. */
export type ToolInput = JsonSchema & { readonly type: 'object' };

/**
 * The names of what a query answers, each of which is there in every answer. Null for a mutation, which answers the
 * resource that a query reads, and for what is no object.
 */
export function toolOutput(operation: AnyOperation): JsonSchema | null {
  const { type, required = [] } = outputSchema(operation);
  if (operation.kind !== 'query') return null;
  if (operation.list)
    return {
      type: 'object',
      properties: { data: { type: 'array', items: { required } } },
      required: ['data', 'pagination'],
    };
  return type === 'object' ? { type, required } : null;
}

/** The schema, or the name of the tool before that takes the same long object; so for the objects in it. */
function toldOnce(schema: JsonSchema, tool: string, tellers: Map<string, string>): JsonSchema {
  if (schema.properties === undefined) return schema;
  const text = JSON.stringify(schema);
  const isLong = schema.type === 'object' && text.length >= TOLD_ONCE_BYTES_MIN;
  const teller = tellers.get(text);
  if (isLong && teller !== undefined) return { type: 'object', description: `As in ${teller}.` };
  if (isLong) tellers.set(text, tool);
  const properties = Object.entries(schema.properties).map(([field, one]): [string, JsonSchema] => [
    field,
    toldOnce(one as JsonSchema, tool, tellers),
  ]);
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** The same schema, wider where that makes it shorter, never narrower. */
function shortened(schema: JsonSchema): JsonSchema {
  const kept: JsonSchema = {};
  for (const [keyword, value] of Object.entries(schema)) if (isTelling(keyword, value)) kept[keyword] = value;
  if (schema.type === 'object' && schema.properties !== undefined && schema.properties !== null)
    kept.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, one]) => [name, shortened(one as JsonSchema)]),
    );
  for (const keyword of ['items', 'additionalProperties'] as const)
    if (typeof schema[keyword] === 'object') kept[keyword] = shortened(schema[keyword] as JsonSchema);
  if (schema.allOf !== undefined) kept.allOf = schema.allOf.map((one) => shortened(one)).filter(isTold);
  if (kept.format !== undefined) delete kept.pattern; // it says what the pattern narrows
  return orderOf(kept) ?? withoutAlternatives(kept) ?? kept;
}

function isTold(schema: JsonSchema): boolean {
  return Object.keys(schema).length > 0;
}

function isTelling(keyword: string, value: unknown): boolean {
  if (LEFT_OUT.has(keyword)) return false;
  switch (keyword) {
    case 'additionalProperties':
      return value !== false; // no operation takes a field that it does not have, and each says so in words
    case 'pattern':
      return String(value).length <= PATTERN_CHARS_MAX;
    case 'minLength':
      return Number(value) > 1;
    case 'maxLength':
      return Number(value) <= TELLING_LENGTH_MAX;
    case 'minimum':
    case 'maximum':
      return Math.abs(Number(value)) <= TELLING_NUMBER_MAX;
    default:
      return true;
  }
}

/** Words of which each is there with a `-` in front too, as one pattern. */
function orderOf({ enum: words, ...rest }: JsonSchema): JsonSchema | null {
  const ascending = words?.filter((word) => !String(word).startsWith('-')) ?? [];
  if (words === undefined || words.length < 2 || ascending.length * 2 !== words.length) return null;
  return ascending.every((word) => words.includes(`-${String(word)}`))
    ? { ...rest, pattern: `^-?(?:${ascending.join('|')})$` }
    : null;
}

/** Alternatives as one schema: null beside a type, a date beside a time, and two texts. */
function withoutAlternatives({ anyOf, ...rest }: JsonSchema): JsonSchema | null {
  if (anyOf === undefined) return null;
  const alternatives = anyOf.map((one) => shortened(one));
  const [first = {}, ...others] = alternatives.filter(({ type }) => type !== 'null');
  const isNullable = others.length + 1 < alternatives.length;
  if (first.type === undefined || others.some(({ type }) => type !== first.type || type !== 'string')) return null;
  const isTime = first.format === 'date-time' && others.every(({ format }) => format === 'date');
  return {
    ...(others.length === 0 ? first : { type: first.type, ...(isTime && { format: first.format }) }),
    ...rest,
    ...(isNullable && { type: [first.type, 'null'] as never, ...(first.enum && { enum: [...first.enum, null] }) }),
  };
}
