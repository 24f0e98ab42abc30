/** JSON Schema draft 7 of events: what AsyncAPI reads without being told of another dialect. */
import { z } from 'zod';
import { EVENT_DEFINITIONS, envelopeOf } from '../../actors/event-catalogue.ts';
import type { EventType } from '../../actors/events.ts';
import type { JsonSchema } from '../schemas.ts';

/** The whole envelope of a type. */
export function envelopeSchema(type: EventType): JsonSchema {
  return schemaOf(envelopeOf(type));
}

/** What is in the `data` of a type. */
export function dataSchema(type: EventType): JsonSchema {
  return schemaOf(EVENT_DEFINITIONS[type].data);
}

/**
 * As short as it can be said: no pattern where the format says it, no bounds of what a number can hold, `null` beside
 * the type where it is one.
 */
export function schemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...bare } = z.toJSONSchema(schema, {
    target: 'draft-7',
    override: ({ jsonSchema }) => shorten(jsonSchema),
  });
  return bare;
}

function shorten(schema: JsonSchema): void {
  if (schema.format !== undefined) delete schema.pattern;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  const [value, nothing] = schema.anyOf ?? [];
  if (
    schema.anyOf?.length !== 2 ||
    typeof value !== 'object' ||
    typeof nothing !== 'object' ||
    nothing.type !== 'null' ||
    typeof value.type !== 'string'
  )
    return;
  delete schema.anyOf;
  Object.assign(schema, {
    ...value,
    type: [value.type, 'null'],
    ...(value.enum === undefined ? {} : { enum: [...value.enum, null] }),
  });
}
