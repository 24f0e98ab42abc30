/** JSON Schema 2020-12 of what operations take and give: for OpenAPI and tool lists. */
import { z } from 'zod';
import type { AnyOperation } from './operation.ts';

/** A JSON Schema as zod writes it. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** What a client may send. */
export function inputSchema(operation: AnyOperation): JsonSchema {
  return schemaOf(operation.input, 'input');
}

/** The resource, or one row of a list. */
export function outputSchema(operation: AnyOperation): JsonSchema {
  return schemaOf(operation.output, 'output');
}

/** The name of a resource among the components, if it has one. */
export function schemaName(schema: z.ZodType): string | null {
  return z.globalRegistry.get(schema)?.id ?? null;
}

/** Formats say what their patterns spell out in hundreds of characters, so the patterns are left out. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, $ref: reference, $defs: definitions, ...bare } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema }) => {
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  });
  return definitions?.[reference?.split('/').at(-1) ?? ''] ?? bare; // a named schema comes as a reference to itself
}
