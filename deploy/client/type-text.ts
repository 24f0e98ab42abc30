/** JSON Schema as the text of a TypeScript type, as far as the schemas of this service go. */
import type { JsonSchema } from '../../api/schemas.ts';

/** How it is written. */
export interface TypeStyle {
  /** The type that stands for `#/components/<part>/<name>`. */
  readonly reference: (part: string, name: string) => string;
  /** Whether arrays may be changed. */
  readonly isReadonly: boolean;
}

/** The type of a schema, as a piece of source over several lines. What it cannot say is `unknown`. */
export function typeText(schema: JsonSchema, style: TypeStyle): string {
  const { $ref: target, const: word, enum: words, type, properties, anyOf, oneOf } = schema;
  if (target !== undefined) {
    const [part = '', name = ''] = target.split('/').slice(-2);
    return style.reference(part, name);
  }
  if (word !== undefined) return JSON.stringify(word);
  if (words !== undefined) return union(words.map((one) => JSON.stringify(one)));
  if (type !== undefined) return union([type].flat().map((one) => plainText(one, { ...schema, type: one }, style)));
  const alternatives = properties === undefined ? (anyOf ?? oneOf) : undefined;
  return alternatives === undefined ? 'unknown' : union(alternatives.map((one) => typeText(one, style)));
}

/** A comment of what is said about a thing; empty where nothing is. */
export function commentText(text: string | undefined): string {
  return text === undefined ? '' : `/** ${text.replaceAll('*/', '*\\/').replaceAll(/\s+/gu, ' ')} */\n`;
}

/** A field of an object type, with its comment. */
export function fieldText(name: string, type: string, { comment, isOptional = false }: FieldStyle = {}): string {
  const key = /^[A-Za-z_]\w*$/u.test(name) ? name : JSON.stringify(name);
  return `${commentText(comment)}${key}${isOptional ? '?' : ''}: ${type};`;
}

/** What stands beside the name of a field. */
export interface FieldStyle {
  readonly comment?: string | undefined;
  readonly isOptional?: boolean;
}

/** An object type of fields. */
export function objectText(fields: readonly string[]): string {
  return fields.length === 0 ? '{}' : `{\n${fields.join('\n').replaceAll(/^/gmu, '  ')}\n}`;
}

function plainText(type: string, schema: JsonSchema, style: TypeStyle): string {
  switch (type) {
    case 'integer':
      return 'number';
    case 'array': {
      const items = typeText((schema.items ?? {}) as JsonSchema, style);
      const rows = /^[\w.]+$/u.test(items) ? `${items}[]` : `(${items})[]`;
      return style.isReadonly ? `readonly ${rows}` : rows;
    }
    case 'object':
      return objectType(schema, style);
    default:
      return type;
  }
}

/** Fields that are named, or a record; where both are, the record holds whatever comes. */
function objectType(schema: JsonSchema, style: TypeStyle): string {
  const { properties = {}, required = [], additionalProperties, patternProperties } = schema;
  const fields = Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(([name, one]) =>
    fieldText(name, typeText(one, style), { comment: one.description, isOptional: !required.includes(name) }),
  );
  const others = typeof additionalProperties === 'object' ? typeText(additionalProperties, style) : 'unknown';
  const isOpen = typeof additionalProperties === 'object' || patternProperties !== undefined;
  if (fields.length === 0)
    return additionalProperties === false ? 'Record<string, never>' : `Record<string, ${others}>`;
  return isOpen ? `${objectText(fields)} & Record<string, unknown>` : objectText(fields);
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ');
}
