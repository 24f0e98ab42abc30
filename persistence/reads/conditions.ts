/** Filters as SQL conditions. */
import { parameterName, type FieldKind, type Filter, type FilterField, type FilterOp } from '../../actors/filters.ts';
import { join, sql, type Sql } from './sql.ts';

/** How a field is filtered: by a condition of its own where it has one, else by its column's kind. */
export interface Filterable {
  readonly column?: Sql;
  readonly matches?: (filter: Filter) => Sql;
  /**
   * A table with exactly one row for each of the list, and the condition there: rows that match only such filters are
   * counted in it alone.
   */
  readonly beside?: TableBeside;
}

/** A table with exactly one row for each of a list. */
export interface TableBeside {
  readonly table: Sql;
  readonly matches: (filter: Filter) => Sql;
  /**
   * The other rows, for a filter that asks only for what is not there: an index finds those, and all others match.
   * `null` for any other filter.
   */
  readonly leavesOut: (filter: Filter) => Sql | null;
}

/** Earliest and latest instants that PostgreSQL and ISO 8601 both write plainly: outside, a bound is infinite. */
const TIME_MS_MIN = Date.UTC(1, 0, 1);
const TIME_MS_MAX = Date.UTC(9_999, 11, 31);

/** A day, in ms. */
const DAY_MS = 86_400_000;

/** One filter as a condition. The kind is that of its field in the filter table. */
export function condition(kind: FieldKind, field: Filterable, filter: Filter): Sql {
  if (field.matches !== undefined) return field.matches(filter);
  const { column } = field;
  if (column === undefined) throw new Error(`The field ${filter.field} has no SQL.`);
  const { op, value } = filter;
  if (kind === 'text' || (kind === 'version' && op === 'eq'))
    return textCondition(column, Array.isArray(value) ? value : [value]);
  // by one value an index gives rows in its order, by any of one it does not
  if (op === 'in' && Array.isArray(value) && value.length === 1)
    return condition(kind, field, { ...filter, op: 'eq', value: value[0] as string });
  if (op === 'in')
    return kind === 'uuid' ? sql`${column} = any(${value}::uuid[])` : sql`${column} = any(${value}::text[])`;
  return sql`${column} ${COMPARISONS[op]} ${parameter(kind, value)}`;
}

/** Conditions ANDed, or `true`. */
export function all(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`true` : join(conditions, sql` and `);
}

/** Conditions ORed, or `false`. */
export function anyOf(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`false` : sql`(${join(conditions, sql` or `)})`;
}

const COMPARISONS = { eq: sql`=`, gte: sql`>=`, lte: sql`<=` } as const;

function parameter(kind: FieldKind, value: Filter['value']): Sql {
  if (typeof kind === 'object') return sql`${value}::text`;
  switch (kind) {
    case 'time':
      return sql`${timestamp(Number(value))}::timestamptz`;
    case 'integer':
      return sql`${value}::bigint`;
    case 'boolean':
      return sql`${value}::boolean`;
    case 'cidr':
      return sql`${value}::inet`; // takes host bits, which a cidr does not: such a filter matches nothing
    case 'uuid':
      return sql`${value}::uuid`;
    case 'text':
    case 'exact':
    case 'version':
    case 'selector':
      return sql`${value}::text`;
    default:
      return kind satisfies never;
  }
}

/** An instant as PostgreSQL reads it; one that it cannot write is infinite. */
export function timestamp(ms: number): string {
  if (ms < TIME_MS_MIN) return '-infinity';
  return ms > TIME_MS_MAX ? 'infinity' : new Date(ms).toISOString();
}

/**
 * `*` stands for any text; without one the text must be equal. A NUL, which PostgreSQL cannot hold, matches nothing.
 */
function textCondition(column: Sql, values: readonly unknown[]): Sql {
  const texts = values.map(String).filter((text) => !text.includes('\0'));
  const exact = texts.filter((text) => !text.includes('*'));
  const patterns = texts.filter((text) => text.includes('*')).map(likePattern);
  const either = [
    ...(exact.length > 0 ? [sql`${column} = any(${exact}::text[])`] : []),
    ...(patterns.length > 0 ? [sql`${column} like any(${patterns}::text[])`] : []),
  ];
  return either.length === 0 ? sql`false` : sql`(${join(either, sql` or `)})`;
}

/** A wildcard text as a LIKE pattern: `%`, `_` and `\` stand for themselves. */
export function likePattern(text: string): string {
  return text.replaceAll(/[\\%_]/gu, String.raw`\$&`).replaceAll(/\*+/gu, '%');
}

/**
 * Filters as a targeting holds them: parameter names as keys, values as the client gave them. Times may be date-time or
 * date text; a date alone is its first ms, or its last for `lte`, as in lists.
 */
export function filtersOf(
  fields: Readonly<Record<string, FilterField>>,
  given: Readonly<Record<string, Filter['value']>> | undefined,
): readonly Filter[] {
  return Object.entries(given ?? {}).map(([name, value]) => {
    const found = Object.entries(fields)
      .flatMap(([field, { kind, ops }]) => ops.map((op) => ({ field, kind, op })))
      .find(({ field, op }) => parameterName(field, op) === name);
    if (found === undefined) throw new Error(`A targeting with the unknown filter ${name} was let in.`);
    return {
      field: found.field,
      op: found.op,
      value: found.kind === 'time' && typeof value === 'string' ? timeMs(value, found.op) : value,
    };
  });
}

function timeMs(text: string, op: FilterOp): number {
  return text.includes('T') ? Date.parse(text) : Date.parse(text) + (op === 'lte' ? DAY_MS - 1 : 0);
}
