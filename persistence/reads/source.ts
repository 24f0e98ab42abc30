/** What a list reads: where its rows are, what its fields are in SQL, and how rows become resources. */
import type { Pool } from 'pg';
import type { Vault } from '../vault.ts';
import type { Filter, ListSpec } from '../../actors/filters.ts';
import type { Filterable } from './conditions.ts';
import type { PageAnchors } from './page-anchors.ts';
import type { Sql } from './sql.ts';
import type { Summaries } from './summaries.ts';
import type { Semaphore } from '../connections/semaphore.ts';

/**
 * A field of a list. `cluster`: its column is of the table joined as `c`. `creation`: sorting by it is sorting by
 * creation.
 */
export type Field = Filterable & { readonly cluster?: boolean; readonly creation?: boolean };

/** What rows are read with. */
export interface Reading {
  readonly pool: Pool;
  readonly vault: Vault;
  /** Domain of all node host names. */
  readonly domain: string;
  /** How far commands are. */
  readonly summaries: Summaries;
  /** Recordings are unpacked in turns: one may be 64 MiB. */
  readonly recordingSemaphore: Semaphore;
  /** Page anchors of the lists that can be very long. */
  readonly anchors: ReadonlyMap<Source<unknown>, PageAnchors>;
}

/** Filters by which an index finds the rows. */
export interface Narrow {
  readonly does: (filter: Filter) => boolean;
  /** Words for all of them, behind "add". */
  readonly words: string;
}

export interface Source<T> {
  readonly spec: ListSpec;
  /** The table whose rows a trigger counts, where the list can be long. */
  readonly counted: string | null;
  readonly table: Sql;
  readonly id: Sql;
  /** Joins the cluster as `c`; only done when a filter or the order needs it. */
  readonly joinCluster: Sql;
  readonly fields: Readonly<Record<string, Field>>;
  /** Where the list can be so long that it is not looked through in time: which filters an index serves. */
  readonly narrow?: Narrow;
  /** Columns whose order is the order of creation. The last one is unique. */
  readonly creation: readonly Sql[];
  /**
   * Resources of these ids, in their order. Those that are gone meanwhile are left out. `single` rows carry what lists
   * leave out.
   */
  resources(reading: Reading, ids: readonly string[], single: boolean): Promise<readonly T[]>;
}

/** Host name of a node. Source: docs/names.md. */
export function nodeHostname(node: string, cluster: string, domain: string): string {
  return `node-${node}.${cluster}.${domain}`;
}

/** Host name of an alias. */
export function aliasHostname(alias: string, cluster: string, domain: string): string {
  return `${alias}.${cluster}.${domain}`;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu;

/** Whether the database would take this text as an id. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
