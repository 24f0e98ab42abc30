/**
 * The present state of what a feed tells of, with the order in which it last changed: snapshots and changes come out of
 * one place.
 */

/** What changed of a thing, or all of it where it is new to the reader. */
export type Patch<V extends { readonly id: string }> = { readonly id: string } & Partial<V>;

/** Everything that happened after a position, coalesced: each thing once, in the order of its last change. */
export interface Changes<V extends { readonly id: string }> {
  readonly patches: readonly Patch<V>[];
  readonly removed: readonly string[];
}

/** A bounded, compacted log over live values. Positions count from 0 and rise by one a change. */
export interface ChangeLog<V extends { readonly id: string }> {
  /** Position of the newest change. */
  readonly head: number;
  readonly size: number;
  /** What is there, oldest change first. */
  values(): readonly V[];
  get(id: string): V | undefined;
  /** Says whether anything changed; values equal field by field do not count. */
  put(value: V): boolean;
  remove(id: string): boolean;
  /** Whether `after` can answer for this position. */
  knows(position: number): boolean;
  /** Null when the position is older than what is remembered, or not one of this log: take a snapshot. */
  after(position: number): Changes<V> | null;
}

interface Entry<V> {
  position: number;
  /** Since when it is there: a reader from before gets it whole. */
  readonly since: number;
  /** Null: removed. */
  value: V | null;
  /** Fields that changed since then. */
  readonly fields: Set<keyof V>;
}

/** A log that remembers at most `rememberedMax` changes. */
export function createChangeLog<V extends { readonly id: string }>(
  initial: readonly V[],
  rememberedMax: number,
): ChangeLog<V> {
  return new CompactedLog(initial, rememberedMax);
}

class CompactedLog<V extends { readonly id: string }> implements ChangeLog<V> {
  readonly #rememberedMax: number;
  readonly #entries: Map<string, Entry<V>>;
  #order: { readonly position: number; readonly id: string }[] = [];
  #head = 0;
  #floor = 0;
  #size: number;

  constructor(initial: readonly V[], rememberedMax: number) {
    this.#rememberedMax = rememberedMax;
    this.#entries = new Map(
      initial.map((value) => [value.id, { position: 0, since: 0, value, fields: new Set<keyof V>() }]),
    );
    this.#size = initial.length;
  }

  get head(): number {
    return this.#head;
  }

  get size(): number {
    return this.#size;
  }

  values(): readonly V[] {
    return [...this.#entries.values()].flatMap((entry) => (entry.value === null ? [] : [entry.value]));
  }

  get(id: string): V | undefined {
    return this.#entries.get(id)?.value ?? undefined;
  }

  put(value: V): boolean {
    const entry = this.#entries.get(value.id);
    if (entry === undefined || entry.value === null) {
      this.#head += 1;
      const fresh: Entry<V> = { position: this.#head, since: this.#head, value, fields: new Set() };
      this.#entries.set(value.id, fresh);
      this.#size += 1;
      this.#mark(value.id, fresh);
      return true;
    }
    const fields = changedFields(entry.value, value);
    if (fields.length === 0) return false;
    for (const field of fields) entry.fields.add(field);
    entry.value = value;
    this.#head += 1;
    this.#mark(value.id, entry);
    return true;
  }

  remove(id: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.value === null) return false;
    entry.value = null;
    this.#size -= 1;
    this.#head += 1;
    this.#mark(id, entry);
    return true;
  }

  knows(position: number): boolean {
    return Number.isSafeInteger(position) && position >= this.#floor && position <= this.#head;
  }

  after(position: number): Changes<V> | null {
    if (!this.knows(position)) return null;
    const patches: Patch<V>[] = [];
    const removed: string[] = [];
    for (let index = firstAfter(this.#order, position); index < this.#order.length; index += 1) {
      const change = this.#order[index];
      const entry = change && this.#entries.get(change.id);
      if (change === undefined || entry === undefined || entry.position !== change.position) continue;
      if (entry.value === null) removed.push(change.id);
      else patches.push(entry.since > position ? entry.value : picked(entry.value, entry.fields));
    }
    return { patches, removed };
  }

  #mark(id: string, entry: Entry<V>): void {
    entry.position = this.#head;
    this.#order.push({ position: this.#head, id });
    if (this.#order.length > this.#rememberedMax) this.#forget();
  }

  // Superseded marks go first; only when that frees too little is history given up, half of it at once so that this
  // stays rare.
  #forget(): void {
    this.#order = this.#order.filter(({ id, position }) => this.#entries.get(id)?.position === position);
    if (this.#order.length <= this.#rememberedMax / 2) return;
    const dropped = this.#order.splice(0, this.#order.length - Math.ceil(this.#rememberedMax / 2));
    this.#floor = dropped.at(-1)?.position ?? this.#floor;
    for (const { id } of dropped) {
      if (this.#entries.get(id)?.value === null) this.#entries.delete(id);
    }
  }
}

/** Fields of `after` that say something else. */
export function changedFields<V extends object>(before: V, after: V): (keyof V)[] {
  return (Object.keys(after) as (keyof V)[]).filter((field) => !same(before[field], after[field]));
}

function same(left: unknown, right: unknown): boolean {
  return (
    left === right ||
    (typeof left === 'object' && typeof right === 'object' && JSON.stringify(left) === JSON.stringify(right))
  );
}

function picked<V extends { readonly id: string }>(value: V, fields: ReadonlySet<keyof V>): Patch<V> {
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
