/**
 * The types of REST: `paths`, `components` and `operations` of the OpenAPI document, in the shape that openapi-fetch
 * and other clients of openapi-typescript read.
 */
import type { JsonSchema } from '../../api/schemas.ts';
import { commentText, fieldText, objectText, typeText, type TypeStyle } from './type-text.ts';

/** As much of an OpenAPI document as its types need. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, Answered>>;
  };
}

/** One operation of it. */
interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Answered | { readonly $ref: string }>>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

interface Answered {
  readonly description?: string;
  readonly content?: Content;
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;

const STYLE: TypeStyle = {
  reference: (part, name) => `components[${JSON.stringify(part)}][${JSON.stringify(name)}]`,
  isReadonly: false,
};

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
const PLACES = ['query', 'header', 'path', 'cookie'];

/** The whole file. */
export function restTypes({ paths, components }: OpenApiDocument): string {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const parts = [
    `export interface paths ${objectText(Object.entries(paths).map(([path, methods]) => fieldText(path, pathText(methods))))}`,
    `export interface components ${objectText([
      fieldText(
        'schemas',
        objectText(Object.entries(components.schemas).map(([name, schema]) => schemaField(name, schema))),
      ),
      fieldText(
        'responses',
        objectText(Object.entries(components.responses).map(([name, one]) => answerField(name, one))),
      ),
    ])}`,
    `export interface operations ${objectText(operations.map((one) => fieldText(one.operationId, operationText(one), { comment: one.summary })))}`,
  ];
  return `/** The REST API, made from its OpenAPI document. */\n\n${parts.join('\n\n')}\n`;
}

function schemaField(name: string, schema: JsonSchema): string {
  return fieldText(name, typeText(schema, STYLE), { comment: schema.description });
}

function pathText(methods: Readonly<Record<string, Described>>): string {
  return objectText([
    fieldText('parameters', parametersText([])),
    ...METHODS.map((method) => {
      const described = methods[method];
      return described === undefined
        ? fieldText(method, 'never', { isOptional: true })
        : fieldText(method, `operations[${JSON.stringify(described.operationId)}]`);
    }),
  ]);
}

function operationText({ parameters, requestBody, responses }: Described): string {
  return objectText([
    fieldText('parameters', parametersText(parameters)),
    requestBody === undefined
      ? fieldText('requestBody', 'never', { isOptional: true })
      : fieldText('requestBody', objectText([fieldText('content', contentText(requestBody.content))]), {
          isOptional: !requestBody.required,
        }),
    fieldText(
      'responses',
      objectText(
        Object.entries(responses).map(([status, one]) =>
          '$ref' in one ? `${status}: ${typeText(one, STYLE)};` : answerField(status, one),
        ),
      ),
    ),
  ]);
}

function parametersText(parameters: readonly Parameter[]): string {
  return objectText(
    PLACES.map((place) => {
      const own = parameters.filter((one) => one.in === place);
      if (own.length === 0) return fieldText(place, 'never', { isOptional: true });
      const fields = own.map(({ name, required, description, schema }) =>
        fieldText(name, typeText(schema, STYLE), {
          comment: description ?? schema.description,
          isOptional: !required,
        }),
      );
      return fieldText(place, objectText(fields), { isOptional: own.every(({ required }) => !required) });
    }),
  );
}

function answerField(name: string, { description, content }: Answered): string {
  const fields = [
    fieldText('headers', '{ [name: string]: unknown }'),
    content === undefined
      ? fieldText('content', 'never', { isOptional: true })
      : fieldText('content', contentText(content)),
  ];
  return `${commentText(description)}${name}: ${objectText(fields)};`;
}

function contentText(content: Content): string {
  return objectText(
    Object.entries(content).map(([type, { schema }]) => `${JSON.stringify(type)}: ${typeText(schema, STYLE)};`),
  );
}
