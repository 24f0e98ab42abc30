/**
 * The input of every list operation, made from its filter table: page, page_size, sort, and one parameter a field and
 * operator.
 */
import { z } from 'zod';
import {
  LISTS,
  parameterName,
  type FieldKind,
  type Filter,
  type FilterField,
  type FilterOp,
  type ListName,
  type ListQuery,
  type ListSpec,
  type Sort,
} from '../../actors/filters.ts';
import { parseSelector, SELECTOR_CHARS_MAX, SELECTOR_PATTERN } from '../../actors/label-selector.ts';
import { INTEGER_MAX, KNOWN_YEAR, NOT_KNOWN_YEAR, storableText } from './inputs.ts';

/** Source: docs/api.md, Lists. */
export const PAGE_SIZE_DEFAULT = 20;
export const PAGE_SIZE_MAX = 100;

/** Largest page number: what lies before it still counts exactly in a 64-bit offset. */
export const PAGE_MAX = 1_000_000_000;

/** Most values of one `__in` filter, and most fields of one sort. */
export const IN_VALUES_MAX = 500;
export const SORT_FIELDS_MAX = 8;

/**
 * Longest text filter, in characters, and longest one without wildcards: an enrolment key with the URLs of many admins.
 */
export const FILTER_TEXT_MAX = 1_024;
export const FILTER_EXACT_MAX = 8_192;

type InputOf<K extends FieldKind> = K extends 'boolean'
  ? boolean | `${boolean}`
  : K extends 'integer'
    ? number | `${number}`
    : K extends readonly (infer Word extends string)[]
      ? Word
      : string;
type Parameter<F extends FilterField, Op extends FilterOp> = Op extends 'in'
  ? string | readonly InputOf<F['kind']>[]
  : InputOf<F['kind']>;
type ParametersOf<Fields extends Readonly<Record<string, FilterField>>> = {
  readonly [
    F in keyof Fields & string as Fields[F]['ops'][number] extends infer Op extends FilterOp
      ? Op extends 'eq'
        ? F
        : `${F}__${Op}`
      : never
  ]?: unknown;
} extends infer Keys
  ? { readonly [P in keyof Keys]?: ParameterType<Fields, P & string> }
  : never;
type ParameterType<
  Fields extends Readonly<Record<string, FilterField>>,
  P extends string,
> = P extends `${infer F}__${infer Op extends FilterOp}`
  ? F extends keyof Fields
    ? Parameter<Fields[F], Op>
    : never
  : P extends keyof Fields
    ? Parameter<Fields[P], 'eq'>
    : never;

/** What clients may send to a list, numbers and booleans as such or as text, and lists as arrays or with commas. */
export type ListParameters<Spec extends ListSpec> = ParametersOf<Spec['fields']> & {
  readonly page?: number | `${number}`;
  readonly page_size?: number | `${number}`;
  readonly sort?: string | readonly string[];
};

/** The input of the list of this name. Unknown parameters are refused. */
export function listInput<N extends ListName>(name: N): z.ZodType<ListQuery, ListParameters<(typeof LISTS)[N]>> {
  return inputOf(LISTS[name]) as z.ZodType<ListQuery, ListParameters<(typeof LISTS)[N]>>;
}

/** The input of a list with these filters. */
export function inputOf<Spec extends ListSpec>(spec: Spec): z.ZodType<ListQuery, ListParameters<Spec>> {
  const parameters = parametersOf(spec.fields);
  const shape: Record<string, z.ZodType> = {
    page: fromText(integerOf, z.int().min(1).max(PAGE_MAX))
      .default(1)
      .describe(
        'Which page, from 1. A walk in order of creation from the first to the last page shows every row that was there when it began; what is inserted meanwhile may move others to a later page, where they are shown once more.',
      ),
    page_size: fromText(integerOf, z.int().min(1).max(PAGE_SIZE_MAX))
      .default(PAGE_SIZE_DEFAULT)
      .describe('Rows a page.'),
    sort: sortOf(spec.sortable),
  };
  for (const { name, field, op } of parameters) {
    const schema = parameterSchema(field.kind, op);
    const described = spec.descriptions?.[name];
    const parameter = isRequired(spec, name) ? schema : schema.optional();
    shape[name] = described === undefined ? parameter : parameter.describe(described);
  }

  return z.strictObject(shape).transform((given): ListQuery => ({
    filters: parameters.flatMap(({ name, key, op }): Filter[] =>
      given[name] === undefined ? [] : [{ field: key, op, value: given[name] as Filter['value'] }],
    ),
    sort: (given['sort'] ?? []) as readonly Sort[],
    page: given['page'] as number,
    pageSize: given['page_size'] as number,
  })) as unknown as z.ZodType<ListQuery, ListParameters<Spec>>;
}

function isRequired({ required }: ListSpec, name: string): boolean {
  return required?.includes(name) === true;
}

/** One parameter: its name, and the field and operator that it stands for. */
export interface NamedParameter {
  readonly name: string;
  readonly key: string;
  readonly field: FilterField;
  readonly op: FilterOp;
}

/** All parameters of some fields, in their order. */
export function parametersOf(fields: Readonly<Record<string, FilterField>>): readonly NamedParameter[] {
  return Object.entries(fields).flatMap(([key, field]) =>
    field.ops.map((op) => ({ name: parameterName(key, op), key, field, op })),
  );
}

/** The schema of one parameter. */
export function parameterSchema(kind: FieldKind, op: FilterOp): z.ZodType {
  return op === 'in'
    ? fromText(wordsOf, z.array(valueSchema(kind, op)).min(1).max(IN_VALUES_MAX))
    : valueSchema(kind, op);
}

function valueSchema(kind: FieldKind, op: FilterOp): z.ZodType {
  if (typeof kind === 'object') return z.enum(kind);
  switch (kind) {
    case 'text':
    case 'version':
      return storableText(FILTER_TEXT_MAX).min(1);
    case 'selector':
      return selectorText;
    case 'exact':
      return storableText(FILTER_EXACT_MAX).min(1);
    case 'uuid':
      return z.guid('must be a UUID').overwrite((text) => text.toLowerCase());
    case 'integer':
      return fromText(integerOf, z.int().min(-INTEGER_MAX).max(INTEGER_MAX));
    case 'boolean':
      return fromText(booleanOf, z.boolean());
    case 'time':
      return timeText.transform((text) => timeMs(text, op));
    case 'cidr':
      return z.union([z.cidrv4(), z.cidrv6()], 'must be an address range such as 100.64.0.0/24');
    default:
      return kind satisfies never;
  }
}

/** A selector of labels, as it was written. */
export const selectorText = storableText(SELECTOR_CHARS_MAX)
  .min(1)
  .superRefine((text, context) => {
    const parsed = parseSelector(text);
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.problem });
  })
  .meta({
    pattern: SELECTOR_PATTERN,
    description: 'Selector as in Kubernetes: env=prod,tier!=db,zone in (a,b),!gpu.',
    examples: ['env=prod,tier!=db'],
  });

const NO_TIME = 'must be an ISO 8601 date-time with a time zone, or a date';

/** A date-time or a date. */
export const timeText = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], NO_TIME)
  .refine((text) => KNOWN_YEAR.test(text), NOT_KNOWN_YEAR)
  .meta({ anyOf: ['date-time', 'date'].map((format) => ({ type: 'string', format, pattern: KNOWN_YEAR.source })) });

/**
 * Unix ms of a date-time or date. A date alone is its first ms, or its last for `lte`, so that both ends of a range are
 * included.
 */
function timeMs(text: string, op: FilterOp): number {
  if (text.includes('T')) return Date.parse(text);
  return Date.parse(text) + (op === 'lte' ? DAY_MS - 1 : 0);
}

const DAY_MS = 86_400_000;

function sortOf(sortable: readonly string[]): z.ZodType {
  const words = sortable.flatMap((field) => [field, `-${field}`]);
  return fromText(wordsOf, z.array(z.enum(words)).min(1).max(SORT_FIELDS_MAX))
    .transform((given) =>
      given.map((word): Sort =>
        word.startsWith('-') ? { field: word.slice(1), descending: true } : { field: word, descending: false },
      ),
    )
    .optional()
    .describe('Fields to sort by, `-` in front for descending. Newest first when left out.');
}

/** Takes the schema's own type, or text that `read` turns into it. In JSON Schema only the type itself is seen. */
function fromText<Schema extends z.ZodType>(read: (text: string) => unknown, schema: Schema) {
  return z.preprocess((given) => (typeof given === 'string' ? read(given) : given), schema);
}

function integerOf(text: string): unknown {
  return /^-?\d{1,15}$/u.test(text) ? Number(text) : text;
}

function booleanOf(text: string): unknown {
  return text === 'true' ? true : text === 'false' ? false : text;
}

function wordsOf(text: string): unknown {
  return text.split(',');
}
