/** What an operation is: defined once, offered on every surface. */
import type { z } from 'zod';
import type { AdminDirectory, Ask, Clock, Reads, Records, Vault } from '../actors/kit/ports.ts';
import type { Idempotency } from '../actors/node/messages.ts';
import type { Result } from '../actors/refusal.ts';

/** What a credential reaches. `public` needs none. */
export type Scope = 'api' | 'metrics' | 'public';

/** What handlers may use. Everything outside comes from here. */
export interface OperationPorts {
  readonly ask: Ask;
  readonly reads: Reads;
  readonly records: Records;
  readonly vault: Vault;
  readonly admin: AdminDirectory;
  readonly clock: Clock;
  /** UUID v7: sortable by creation. */
  newId(): string;
  /** Runs the subsystem checks of /healthz, in parallel, 5 s each. */
  checkHealth(): Promise<readonly SubsystemCheck[]>;
  readonly settings: OperationSettings;
}

/** The settings that operations depend on. */
export interface OperationSettings {
  readonly adminUrls: readonly string[];
  readonly vpnDomain: string;
  readonly coreName: string;
  readonly defaultClusterName: string | null;
  readonly publicEnrollmentKeyEnabled: boolean;
}

export interface SubsystemCheck {
  readonly name: string;
  readonly healthy: boolean;
  readonly duration_ms: number;
  readonly error: string | null;
}

/** One call: its ports, its request id, and the client's Idempotency-Key already hashed with the body, if any. */
export interface Call {
  readonly ports: OperationPorts;
  readonly requestId: string;
  readonly idempotency: Idempotency | null;
}

/** Where REST offers it. Path parameters are `:name` and are taken from the input; the rest is the query (GET) or the body. */
export interface RestRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below /api/v1. */
  readonly path: string;
  readonly status: 200 | 201 | 202 | 204;
}

/** How MCP clients may treat the tool. */
export interface ToolHints {
  readonly destructive: boolean;
  readonly idempotent: boolean;
}

/**
 * One operation of the catalogue.
 * `list` marks answers `{rows, totalCount}` that become a page with pagination; others answer a single resource, or null for 204.
 */
export interface Operation<Name extends string = string, Kind extends 'query' | 'mutation' = 'query' | 'mutation', Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType> {
  readonly name: Name;
  readonly kind: Kind;
  readonly scope: Scope;
  readonly summary: string;
  /** Null: no REST route (check_admin_health). */
  readonly rest: RestRoute | null;
  readonly hints: ToolHints;
  /** Creates keep their answer under an Idempotency-Key. */
  readonly creates: boolean;
  /** Answers a page. */
  readonly list: boolean;
  readonly input: Input;
  /** The resource, or one row of a list. */
  readonly output: Output;
  handle(input: z.output<Input>, call: Call): Promise<Result<unknown>>;
}
