/** Rows of resources: what a list selects follows from the schema of its resource. */
import type { z } from 'zod';
import type { Given } from '../../actors/resources/resource.ts';

/**
 * A row as the driver gives it: the fields of a resource, instants as dates. `Made` are the fields that no column
 * holds.
 */
export type RowOf<Schema extends { readonly shape: z.ZodRawShape }, Made extends keyof Schema['shape'] = never> = {
  readonly [Field in Exclude<keyof Schema['shape'], Made>]: ColumnOf<Schema['shape'][Field]>;
};

type ColumnOf<Schema> = Schema extends z.ZodISODateTime
  ? Date
  : Schema extends z.ZodNullable<z.ZodISODateTime>
    ? Date | null
    : Schema extends z.ZodType
      ? Given<Schema>
      : never;

type IsoTimes<Row> = {
  readonly [Column in keyof Row]: Row[Column] extends Date
    ? string
    : Row[Column] extends Date | null
      ? string | null
      : Row[Column];
};

/** A row with its instants as ISO 8601, in the order of its columns. */
export function withIsoTimes<Row extends object>(row: Row): IsoTimes<Row> {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [column, value instanceof Date ? value.toISOString() : value]),
  ) as IsoTimes<Row>;
}
