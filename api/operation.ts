/** What an operation is: defined once, offered on every surface. */
import type { z } from 'zod';
import type { AfterLoss, ForwardedPart } from './forwarding/forwarded-part.ts';
import type { OwnedBy } from './forwarding/ports.ts';
import type { OperationPorts, Page } from './ports.ts';
import type { Scope } from './surface.ts';
import type { Idempotency } from '../actors/node/messages.ts';
import type { Result } from '../actors/refusal.ts';
import type { ClusterId } from '../transport/protocol/ids.ts';
import type { TraceContext } from '../transport/protocol/trace-context.ts';

/** One call: its ports, its request id, and the client's Idempotency-Key already hashed with the body, if any. */
export interface Call {
  readonly ports: OperationPorts;
  readonly requestId: string;
  /** Its place in a trace, to be kept by what it creates; null when nobody traces it. */
  readonly trace: TraceContext | null;
  readonly idempotency: Idempotency | null;
  /** An earlier try of it may have been done: its answer was lost. */
  readonly isRepeat: boolean;
  /** Has a part of it done by the owner of what that part is about: for what has many owners. */
  forward<T>(part: ForwardedPart<T>): Promise<Result<T>>;
}

/** By what an operation tells whom it needs: as few reads as that takes, since its handler reads again. */
export type OwnerPorts = Pick<OperationPorts, 'reads' | 'settings'>;

/**
 * Where REST offers it. Path parameters are `:name` and are fields of the input; the rest of the input is the query
 * (GET) or the body (other methods).
 */
export interface RestRoute<Answer = never> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below /api/v1. */
  readonly path: string;
  readonly status: 200 | 201 | 202 | 204;
  /** 202 in place of `status` for the answers it picks: those that tell of something still under way. */
  acceptedWhen?(answer: Answer): boolean;
}

/** How MCP clients may treat the tool. A query is read-only. */
export interface ToolHints {
  readonly destructive: boolean;
  readonly idempotent: boolean;
  /** What it does reaches beyond this service's own records. Default: false. */
  readonly openWorld?: boolean;
}

/** Queries only read; mutations may change something. */
export type Kind = 'query' | 'mutation';

/** What a handler answers: a page of rows, a resource, or null where REST answers 204. */
export type Handled<Output extends z.ZodType, List extends boolean> = List extends true
  ? Page<z.output<Output>>
  : z.output<Output>;

/**
 * One operation of the catalogue.
 * @typeParam Input what clients may send, as JSON or as strings of a query
 * @typeParam Output the resource, or one row of a list
 * @typeParam List whether it answers pages; its input must then be a `listInput`
 */
export interface Operation<
  Name extends string = string,
  K extends Kind = Kind,
  Input extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
  List extends boolean = boolean,
> {
  readonly name: Name;
  readonly kind: K;
  readonly scope: Scope;
  /** One sentence for documentation and tool lists. */
  readonly summary: string;
  /** Null: no REST route (check_admin_health). */
  readonly rest: RestRoute<z.output<Output>> | null;
  readonly hints: ToolHints;
  /** Creates keep their answer under an Idempotency-Key. */
  readonly creates: boolean;
  /** Refused with `degraded_mode` while there are more nodes than the admins have room for. Source: docs/api.md. */
  readonly needsCapacity: boolean;
  /** Calls that do something, from one address in a minute; null: any number. */
  readonly fromOneAddressPerMinuteMax: number | null;
  /** The same in an hour, where what they make is kept so long: one address is to have no more than a share. */
  readonly fromOneAddressPerHourMax: number | null;
  /** May be refused with `conflict` or `idempotency_conflict`: documentation says so. */
  readonly conflicts: boolean;
  /** May be refused with `forbidden` whoever asks, and with `not_found` although its path names nothing. */
  readonly mayBeForbidden: boolean;
  readonly mayBeMissing: boolean;
  readonly list: List;
  readonly input: Input;
  readonly output: Output;
  /** Whose owner must do it; null: nobody's, so that its handler says what is wrong. Left out: any admin does it. */
  ownedBy?(input: z.output<Input>, ports: OwnerPorts): Promise<OwnedBy | null> | OwnedBy;
  /** The cluster into which a node comes: room is made there before it is refused for want of it. */
  enters?(input: z.output<Input>, ports: OwnerPorts): Promise<ClusterId | null>;
  /** Null: it is not known what came of one whose answer was lost together with the owner. */
  readonly afterLoss: AfterLoss | null;
  handle(input: z.output<Input>, call: Call): Promise<Result<Handled<Output, List>>>;
}

/** Any operation, where its types do not matter. */
export type AnyOperation = Operation;

/** An operation as written down: what is left out follows from the rest. */
export interface Definition<
  Name extends string,
  K extends Kind,
  Input extends z.ZodType,
  Output extends z.ZodType,
  List extends boolean,
> {
  readonly name: Name;
  readonly kind: K;
  /** Default: `api`. */
  readonly scope?: Scope;
  readonly summary: string;
  readonly rest: RestRoute<z.output<Output>> | null;
  /** Default: by kind and method. A DELETE destroys and may be repeated, a PATCH may be repeated, a POST neither. */
  readonly hints?: ToolHints;
  /** Default: false. */
  readonly creates?: boolean;
  /** Default: false. */
  readonly needsCapacity?: boolean;
  /** Default: what `creates` is, since a retried create may come with another body. */
  readonly conflicts?: boolean;
  /** Default: false. */
  readonly mayBeForbidden?: boolean;
  /** Default: false. A path that names something may always miss it. */
  readonly mayBeMissing?: boolean;
  /** Default: null. */
  readonly fromOneAddressPerMinuteMax?: number | null;
  /** Default: null. */
  readonly fromOneAddressPerHourMax?: number | null;
  /** Default: false. */
  readonly list?: List;
  readonly input: Input;
  readonly output: Output;
  /** One that has it makes one ask and stores nothing before it. Default: any admin does it. */
  ownedBy?(input: z.output<Input>, ports: OwnerPorts): Promise<OwnedBy | null> | OwnedBy;
  /** The cluster into which a node comes; null: there is none of that name. Default: no node comes anywhere. */
  enters?(input: z.output<Input>, ports: OwnerPorts): Promise<ClusterId | null>;
  /**
   * Doing it twice is as good as once, whatever others do in between. Default: false, so that nobody knows what became
   * of one whose answer was lost together with the owner.
   */
  readonly repeatable?: true;
  /**
   * It deletes: what is missing when it is done again was deleted by the first try, as it was there before. So its
   * `ownedBy` says null of what is not there. Default: false.
   */
  readonly doneWhenMissing?: true;
  handle(input: z.output<Input>, call: Call): Promise<Result<Handled<Output, List>>>;
}

/** Makes an operation out of its definition. Name, kind, input and output stay exact in its type. */
export function operation<
  const Name extends string,
  const K extends Kind,
  Input extends z.ZodType,
  Output extends z.ZodType,
  const List extends boolean = false,
>(definition: Definition<Name, K, Input, Output, List>): Operation<Name, K, Input, Output, List> {
  return {
    scope: 'api',
    hints: defaultHints(definition.kind, definition.rest?.method),
    creates: false,
    needsCapacity: false,
    fromOneAddressPerMinuteMax: null,
    fromOneAddressPerHourMax: null,
    conflicts: definition.creates ?? false,
    mayBeForbidden: false,
    mayBeMissing: false,
    list: false as List,
    afterLoss: afterLossOf(definition),
    ...definition,
  };
}

function afterLossOf({
  creates,
  doneWhenMissing,
  repeatable,
}: {
  readonly creates?: boolean;
  readonly doneWhenMissing?: true;
  readonly repeatable?: true;
}): AfterLoss | null {
  if (creates === true) return 'record';
  if (doneWhenMissing === true) return 'missing';
  return repeatable === true ? 'again' : null;
}

function defaultHints(kind: Kind, method: RestRoute['method'] | undefined): ToolHints {
  return {
    destructive: method === 'DELETE',
    idempotent: kind === 'query' || method === 'DELETE' || method === 'PATCH',
  };
}

/** Names of the path parameters of a route: `/nodes/:id/aliases` has `id`. */
export function pathParameters(path: string): readonly string[] {
  return [...path.matchAll(/:([a-z_]+)/gu)].map((match) => match[1] ?? '');
}
