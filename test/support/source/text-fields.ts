/** Every text that a zod schema takes, by its place in it. */
import { z } from 'zod';

/** One place where text is taken. */
export interface TextField {
  readonly path: string;
  /** Texts with a NUL that it takes all the same; whatever its length and form. */
  readonly taken: readonly string[];
}

/** Candidates with a NUL: of many lengths, and in the forms that fields have. */
const NULS = [
  ...Array.from({ length: 130 }, (_, length) => `${'a'.repeat(length)}\0`),
  `${'a'.repeat(500)}\0`,
  '\0a',
  'a\0b',
  'http://a.example/\0',
  'http://a\0.example/',
  'http://a.example/?\0=1',
  '10.0.0.0\0',
  '10.0.0.0/24\0',
  'fd00::\0/64',
  '198.51.100.7:51820\0',
  '00000000-0000-7000-8000-000000000001\0',
  '2030-01-01T00:00:00Z\0',
  '2030-01-01\0',
  `${'A'.repeat(42)}E=\0`,
  'nodekey:\0',
];

/** Walks a schema down to its texts. */
export function textFields(schema: z.core.$ZodType, path = ''): readonly TextField[] {
  const def = (schema as z.ZodType).def as unknown as Readonly<Record<string, unknown>> & { readonly type: string };
  const inner = (name: string, at = path) => textFields(def[name] as z.core.$ZodType, at);
  switch (def.type) {
    case 'string':
      return [{ path, taken: NULS.filter((value) => z.safeParse(schema, value).success) }];
    case 'object':
      return Object.entries(def['shape'] as Readonly<Record<string, z.core.$ZodType>>).flatMap(([name, field]) =>
        textFields(field, `${path}.${name}`),
      );
    case 'array':
      return inner('element', `${path}[]`);
    case 'tuple':
      return (def['items'] as readonly z.core.$ZodType[]).flatMap((item, index) =>
        textFields(item, `${path}[${index}]`),
      );
    case 'union':
      return (def['options'] as readonly z.core.$ZodType[]).flatMap((option) =>
        textFields(option, `${path}${nameOf(option)}`),
      );
    case 'intersection':
      return [...inner('left'), ...inner('right')];
    case 'record':
      return [...inner('keyType', `${path}{key}`), ...inner('valueType', `${path}{}`)];
    case 'pipe':
      // what is preprocessed is checked behind that
      return inner((def['in'] as z.ZodType).def.type === 'transform' ? 'out' : 'in');
    case 'lazy':
      return textFields((def['getter'] as () => z.core.$ZodType)(), path);
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
    case 'catch':
    case 'nonoptional':
      return inner('innerType');
    case 'enum':
    case 'literal':
    case 'number':
    case 'int':
    case 'bigint':
    case 'boolean':
    case 'null':
    case 'undefined':
    case 'never':
    case 'date':
      return [];
    default:
      throw new Error(
        `${path} is of the kind ${def.type}: teach test/support/source/text-fields.ts where its texts are`,
      );
  }
}

/** The name by which an option of a union is told from the others, where it has one. */
function nameOf(option: z.core.$ZodType): string {
  const shape = ((option as z.ZodType).def as { readonly shape?: Readonly<Record<string, z.core.$ZodType>> }).shape;
  const values = (shape?.['type'] as z.ZodType | undefined)?.def as
    | { readonly values?: readonly unknown[] }
    | undefined;
  return values?.values === undefined ? '' : `(${String(values.values[0])})`;
}
