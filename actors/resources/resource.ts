/**
 * How a resource is written: one zod schema, from which its type, the views of all surfaces, OpenAPI, the tools of MCP
 * and the rows of its list follow. Field names are those of docs/api.md.
 */
import { z } from 'zod';

/** Read-only all the way down: nobody changes what was read or answered. */
export type ReadOnly<T> = T extends readonly (infer Element)[]
  ? readonly ReadOnly<Element>[]
  : T extends object
    ? { readonly [K in keyof T]: ReadOnly<T[K]> }
    : T;

/** What a schema gives, read-only. */
export type Given<Schema extends z.ZodType> = ReadOnly<z.output<Schema>>;

/** The schema of a resource. Its fields can be looked at one by one. */
export type ResourceSchema<Shape extends z.ZodRawShape> = z.ZodType<Given<z.ZodObject<Shape>>> & {
  readonly shape: Shape;
};

/** A resource under its name in documentation, with one sentence that says what it is. */
export function resource<Shape extends z.ZodRawShape>(
  id: string,
  description: string,
  shape: Shape,
): ResourceSchema<Shape> {
  return z.object(shape).meta({ id, description }) as unknown as ResourceSchema<Shape>; // read-only to the checker only
}

/** When a row was made and when it last changed: of every resource that has a list. */
export const stored = { inserted_at: z.iso.datetime(), updated_at: z.iso.datetime() };
