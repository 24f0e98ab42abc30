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

/** A schema as JSON Schema: of what it takes, or of what it gives. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const {
    $schema: _,
    $ref: reference,
    $defs: definitions,
    ...bare
  } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema }) => plain(jsonSchema),
  });
  return definitions?.[reference?.split('/').at(-1) ?? ''] ?? bare; // a named schema comes as a reference to itself
}

/** Formats that JSON Schema knows. */
const KNOWN_FORMATS: ReadonlySet<string> = new Set(['uuid', 'date-time', 'date', 'uri']);

/** Patterns of formats are longer than this, in characters, those that narrow one down shorter. */
const OWN_PATTERN_CHARS_MAX = 64;

/**
 * Known formats say what their patterns spell out in hundreds of characters, so those are left out; unknown ones say
 * nothing, and their patterns do.
 */
function plain(jsonSchema: JsonSchema): void {
  const { format, pattern } = jsonSchema;
  if (format === undefined) return;
  if (!KNOWN_FORMATS.has(format)) delete jsonSchema.format;
  else if (pattern !== undefined && pattern.length > OWN_PATTERN_CHARS_MAX) delete jsonSchema.pattern;
}
