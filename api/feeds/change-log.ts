/**
 * The present state of what a feed tells of, with the order in which it last changed: snapshots and changes come out of
 * one place. What did not change costs its place alone.
 */
import { isDeepStrictEqual } from 'node:util';

/** What changed of a thing, or all of it where it is new to the reader. */
export type Patch<V extends { readonly id: string }> = { readonly id: string } & Partial<V>;

/** What happened after a position, coalesced: each thing once, in the order of its last change. */
export interface Changes<V extends { readonly id: string }> {
  readonly patches: readonly Patch<V>[];
  readonly removed: readonly string[];
  /** Where a reader is who knows them: the head, unless there are more. */
  readonly upTo: number;
}

/** A bounded, compacted log over live values. Positions count from 0 and rise by one a change. */
export interface ChangeLog<V extends { readonly id: string }> {
  /** Position of the newest change. */
  readonly head: number;
  readonly size: number;
  /** What is there. */
  values(): IterableIterator<V>;
  ids(): IterableIterator<string>;
  get(id: string): V | undefined;
  /** Takes what was there from the beginning: readers know it already. */
  load(value: V): void;
  /** Says whether anything changed; values equal field by field do not count. */
  put(value: V): boolean;
  remove(id: string): boolean;
  /** Changes up to now are remembered no more: whoever reads takes a snapshot. */
  forget(): void;
  /** Whether `after` can answer for this position. */
  knows(position: number): boolean;
  /**
   * Null when the position is older than what is remembered, or not one of this log: take a snapshot. At most `max`
   * changes: who asks for the rest says from which position on it began to ask (`base`), since a thing that came after
   * that may be in the rest alone.
   */
  after(position: number, max?: number, base?: number): Changes<V> | null;
}

/** What is remembered of one that changed. */
interface Mark<V> {
  /** Of its last change. */
  position: number;
  /** Since when it is there: a reader from before gets it whole. 0: it was there from the beginning. */
  readonly since: number;
  /** Fields that changed since it is remembered. */
  fields: readonly (keyof V)[];
}

/** Changes that were superseded are dropped once they are half of more than so many. */
const SUPERSEDED_MIN = 64;

/** A log that remembers at most `rememberedMax` changes. */
export function createChangeLog<V extends { readonly id: string }>(
  initial: Iterable<V>,
  rememberedMax: number,
): ChangeLog<V> {
  const log = new CompactedLog<V>(rememberedMax);
  for (const value of initial) log.load(value);
  return log;
}

class CompactedLog<V extends { readonly id: string }> implements ChangeLog<V> {
  readonly #rememberedMax: number;
  readonly #values = new Map<string, V>();
  /** Of those that changed, and are remembered. Whatever has one and no value was removed. */
  readonly #marks = new Map<string, Mark<V>>();
  readonly #fieldSets = new FieldSets<V>();
  #order: { readonly position: number; readonly id: string }[] = [];
  #head = 0;
  #floor = 0;

  constructor(rememberedMax: number) {
    this.#rememberedMax = rememberedMax;
  }

  get head(): number {
    return this.#head;
  }

  get size(): number {
    return this.#values.size;
  }

  values(): IterableIterator<V> {
    return this.#values.values();
  }

  ids(): IterableIterator<string> {
    return this.#values.keys();
  }

  get(id: string): V | undefined {
    return this.#values.get(id);
  }

  load(value: V): void {
    this.#values.set(value.id, value);
  }

  put(value: V): boolean {
    const { id } = value;
    const known = this.#values.get(id);
    const fields = known === undefined ? [] : changedFields(known, value);
    this.#values.set(id, value); // also where they are equal: others may hold this one
    if (known === undefined) this.#mark(id, { position: 0, since: this.#head + 1, fields });
    else if (fields.length === 0) return false;
    else this.#mark(id, this.#changed(id, fields));
    return true;
  }

  remove(id: string): boolean {
    if (!this.#values.delete(id)) return false;
    this.#mark(id, this.#changed(id, []));
    return true;
  }

  forget(): void {
    this.#head += 1;
    this.#floor = this.#head;
    this.#order = [];
    this.#marks.clear();
  }

  knows(position: number): boolean {
    return Number.isSafeInteger(position) && position >= this.#floor && position <= this.#head;
  }

  after(position: number, max = Number.POSITIVE_INFINITY, base = position): Changes<V> | null {
    if (!this.knows(position)) return null;
    const patches: Patch<V>[] = [];
    const removed: string[] = [];
    let upTo = position;
    for (let index = firstAfter(this.#order, position); index < this.#order.length; index += 1) {
      const change = this.#order[index];
      const mark = change && this.#marks.get(change.id);
      if (change === undefined || mark?.position !== change.position) continue;
      if (patches.length + removed.length >= max) return { patches, removed, upTo };
      const value = this.#values.get(change.id);
      if (value === undefined) removed.push(change.id);
      else patches.push(mark.since > base ? value : picked(value, mark.fields));
      upTo = change.position;
    }
    return { patches, removed, upTo: this.#head };
  }

  #changed(id: string, fields: readonly (keyof V)[]): Mark<V> {
    const mark = this.#marks.get(id) ?? { position: 0, since: 0, fields: [] };
    mark.fields = this.#fieldSets.union(mark.fields, fields);
    return mark;
  }

  #mark(id: string, mark: Mark<V>): void {
    this.#head += 1;
    mark.position = this.#head;
    this.#marks.set(id, mark);
    this.#order.push({ position: this.#head, id });
    if (this.#order.length > Math.max(SUPERSEDED_MIN, 2 * this.#marks.size)) this.#compact();
    if (this.#order.length > this.#rememberedMax) this.#forgetOldest();
  }

  #compact(): void {
    this.#order = this.#order.filter(({ id, position }) => this.#marks.get(id)?.position === position);
  }

  // Superseded changes go first; only when that frees too little is history given up, half of it at once so that this
  // stays rare.
  #forgetOldest(): void {
    this.#compact();
    if (this.#order.length <= this.#rememberedMax / 2) return;
    const dropped = this.#order.splice(0, this.#order.length - Math.ceil(this.#rememberedMax / 2));
    this.#floor = dropped.at(-1)?.position ?? this.#floor;
    for (const { id } of dropped) this.#marks.delete(id);
  }
}

/** Sets of fields, of which there are few: many things change in the same way. */
class FieldSets<V> {
  readonly #known = new Map<string, readonly (keyof V)[]>();

  union(one: readonly (keyof V)[], other: readonly (keyof V)[]): readonly (keyof V)[] {
    const more = other.filter((field) => !one.includes(field));
    if (more.length === 0) return one;
    const all = [...one, ...more].sort((left, right) => (String(left) < String(right) ? -1 : 1));
    const key = all.join();
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= FIELD_SETS_MAX) this.#known.clear();
    this.#known.set(key, all);
    return all;
  }
}

/** Sets of fields that are shared. Beyond them each has its own. */
const FIELD_SETS_MAX = 1_000;

/** Fields of `after` that say something else. */
export function changedFields<V extends object>(before: V, after: V): (keyof V)[] {
  if (before === after) return [];
  return (Object.keys(after) as (keyof V)[]).filter((field) => !same(before[field], after[field]));
}

function same(left: unknown, right: unknown): boolean {
  return left === right || (typeof left === 'object' && typeof right === 'object' && isDeepStrictEqual(left, right));
}

function picked<V extends { readonly id: string }>(value: V, fields: readonly (keyof V)[]): Patch<V> {
  const patch: Partial<V> = {};
  for (const field of fields) patch[field] = value[field];
  return { ...patch, id: value.id };
}

function firstAfter(order: readonly { readonly position: number }[], position: number): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((order[middle]?.position ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}
