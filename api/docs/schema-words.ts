/** JSON Schemas in a few words, for the tables of pages. */
import type { JsonSchema } from '../schemas.ts';

/** What a value may be: `uuid`, `integer (1–65535)`, `integer (≥ 1)`, `a | b`, `object {x, y}`. */
export function kindOf(schema: JsonSchema): string {
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum !== undefined)
    return schema.enum
      .filter((value) => value !== null)
      .map(String)
      .join(' | ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map((part) => kindOf(part)))].join(' | ');
  if (schema.type === 'array') return `list of ${kindOf(schema.items as JsonSchema)}`;
  if (schema.type === 'object' && schema.properties !== undefined)
    return `object {${Object.keys(schema.properties).join(', ')}}`;
  return [schema.format ?? typesOf(schema).filter((type) => type !== 'null')[0] ?? schema.type ?? 'any', bounds(schema)]
    .filter(Boolean)
    .join(' ');
}

/** Whether null is among the values, and not the only one. */
export function isNullable(schema: JsonSchema): boolean {
  return typesOf(schema).length > 1 && typesOf(schema).includes('null');
}

function typesOf({ type }: JsonSchema): readonly string[] {
  return Array.isArray(type) ? type : [];
}

function bounds({ minLength, maxLength, minimum, maximum }: JsonSchema): string {
  const [low, high] = [minimum ?? minLength, maximum ?? maxLength];
  if (high === undefined) return low === undefined ? '' : `(≥ ${low})`;
  return `(${low ?? ''}–${high})`;
}
