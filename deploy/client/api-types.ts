/**
 * The types of the published client, written out from the schemas of operations and events: what `api/client/api.ts`
 * takes from the code of the service.
 */
import { EVENT_TYPES } from '../../actors/events.ts';
import { EVENT_DEFINITIONS } from '../../actors/event-catalogue.ts';
import { envelopeSchema } from '../../api/docs/event-schemas.ts';
import type { AnyOperation } from '../../api/operation.ts';
import { inputSchema, outputSchema, schemaName, type JsonSchema } from '../../api/schemas.ts';
import { commentText, fieldText, objectText, typeText, type TypeStyle } from './type-text.ts';

const STYLE: TypeStyle = {
  reference: (part, name) => {
    throw new Error(`a schema of an operation refers to ${part}/${name}`);
  },
  isReadonly: true,
};

/** The declarations of the client's types: `api.d.ts`. */
export function apiTypes(operations: readonly AnyOperation[]): string {
  return [
    '/** What the service takes and answers, made from its schemas. */\n',
    ...resources(operations),
    `export interface Operations ${objectText(operations.map(operationField))}\n`,
    `export type EventName =\n${EVENT_TYPES.map((type) => `  | ${JSON.stringify(type)}`).join('\n')};\n`,
    `/** \`data\` of each type of event. */\nexport interface EventData ${objectText(EVENT_TYPES.map(eventField))}\n`,
    SHAPES,
  ].join('\n');
}

/** Resources that have a name, once each. */
function resources(operations: readonly AnyOperation[]): readonly string[] {
  const texts = new Map<string, string>();
  for (const operation of operations) {
    const name = schemaName(operation.output);
    if (name === null || texts.has(name)) continue;
    const schema = outputSchema(operation);
    texts.set(name, `${commentText(schema.description)}export type ${name} = ${typeText(schema, STYLE)};\n`);
  }
  return [...texts.values()];
}

function operationField(operation: AnyOperation): string {
  const row = schemaName(operation.output) ?? typeText(outputSchema(operation), STYLE);
  return fieldText(
    operation.name,
    objectText([
      fieldText('kind', JSON.stringify(operation.kind)),
      fieldText('input', `${typeText(inputSchema(operation), STYLE)}${operation.creates ? ' & Keyed' : ''}`),
      fieldText('output', operation.list ? `List<${row}>` : row),
    ]),
    { comment: operation.summary },
  );
}

function eventField(type: (typeof EVENT_TYPES)[number]): string {
  const { properties = {} } = envelopeSchema(type);
  return fieldText(type, typeText((properties as Readonly<Record<string, JsonSchema>>)['data'] ?? {}, STYLE), {
    comment: EVENT_DEFINITIONS[type].description,
  });
}

/**
 * What is made of them. Held equal to the router and the feeds by test/system/deploy/client-programs.ts, which is
 * checked with the package.
 */
const SHAPES = `/** A page of a list. */
export interface List<Row> {
  data: readonly Row[];
  pagination: {
    page: number;
    page_size: number;
    total_count: number;
    total_pages: number;
    has_next: boolean;
    has_prev: boolean;
    next_page: number | null;
    prev_page: number | null;
  };
}

/** A create that is tried again under the same key within 24 h is the same create. */
export interface Keyed {
  idempotency_key?: string;
}

/** What operations take, by name. */
export type Inputs = { [Name in keyof Operations]: Operations[Name]['input'] };

/** What operations answer, by name. */
export type Outputs = { [Name in keyof Operations]: Operations[Name]['output'] };

/** An event, as webhooks, brokers and feeds bring it: its \`type\` says what is in its \`data\`. */
export type EdgeEvent = {
  [Type in EventName]: {
    specversion: '1.0';
    /** The same on every try: drop what you have seen. */
    id: string;
    source: string;
    type: Type;
    /** When it happened. */
    time: string;
    datacontenttype: 'application/json';
    corename: string;
    data: EventData[Type];
  };
}[EventName];

/** The id of the last message that was seen; the feed goes on after it. */
export interface Resume {
  lastEventId?: string | null | undefined;
}

/** What changed of a thing; all of its fields where it is new. */
export type Patch<Value> = { id: string } & Partial<Value>;

/**
 * A snapshot comes as pages 1 to \`pages\`, of which the first replaces all that is known. Changes are merged by id.
 */
export type NodesMessage =
  | { type: 'snapshot'; page: number; pages: number; total: number; nodes: readonly Node[] }
  | { type: 'changed'; nodes: readonly Patch<Node>[]; removed: readonly string[] };

/** An execution, as the feed of its command has it. */
export interface ExecutionBrief {
  id: string;
  node_id: string;
  cluster_name: string;
  status: CommandExecution['status'];
  exit_code: number | null;
}

/** As of nodes. \`removed\` is the last message: the command was deleted. */
export type CommandMessage =
  | { type: 'snapshot'; page: number; pages: number; command: Command; executions: readonly ExecutionBrief[] }
  | { type: 'changed'; summary: Command['summary']; executions: readonly Patch<ExecutionBrief>[] }
  | { type: 'removed' };

/** Offsets count bytes of UTF-8. A snapshot with offset 0 replaces all text so far. \`end\` is last. */
export type TailMessage =
  | { type: 'snapshot'; offset: number; status: CommandExecution['status']; exit_code: number | null }
  | { type: 'output'; offset: number; text: string }
  | { type: 'end'; status: CommandExecution['status']; exit_code: number | null; output_truncated: boolean };

/** Events in their order, after \`started\`. */
export type EventsMessage = { type: 'started' } | { type: 'events'; events: readonly EdgeEvent[] };

/** The live feeds, by name. */
export interface Feeds {
  'nodes.watch': { input: Omit<Inputs['list_nodes'], 'page' | 'page_size' | 'sort'> & Resume; message: NodesMessage };
  'commands.watch': { input: { id: string } & Resume; message: CommandMessage };
  'executions.tail': { input: { id: string } & Resume; message: TailMessage };
  'events.watch': {
    input: { types?: readonly EventName[] | undefined; latest?: number | undefined } & Resume;
    message: EventsMessage;
  };
}

/** What goes along with a call. */
export interface CallOptions {
  signal?: AbortSignal;
}

/** What a feed calls. */
export interface FeedHandlers<Message> {
  onData?: (message: { id: string; data: Message }) => void;
  onError?: (error: Error) => void;
  onStarted?: () => void;
  onComplete?: () => void;
  signal?: AbortSignal;
}

type Arguments<Input> = {} extends Input ? [input?: Input, options?: CallOptions] : [input: Input, options?: CallOptions];
type Call<Name extends keyof Operations> = (...given: Arguments<Inputs[Name]>) => Promise<Outputs[Name]>;
type Feed<Name extends keyof Feeds> = {
  subscribe(input: Feeds[Name]['input'], handlers: FeedHandlers<Feeds[Name]['message']>): { unsubscribe(): void };
};

/** Every operation and feed. A call rejects where it is refused: \`refusalOf\` says why. */
export type Api = {
  readonly [Name in keyof Operations]: Operations[Name]['kind'] extends 'query'
    ? { query: Call<Name> }
    : { mutate: Call<Name> };
} & {
  readonly nodes: { readonly watch: Feed<'nodes.watch'> };
  readonly commands: { readonly watch: Feed<'commands.watch'> };
  readonly executions: { readonly tail: Feed<'executions.tail'> };
  readonly events: { readonly watch: Feed<'events.watch'> };
};
`;
