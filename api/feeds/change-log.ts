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
  const entries = new Map<string, Entry<V>>(
    initial.map((value) => [value.id, { position: 0, since: 0, value, fields: new Set() }]),
  );
  let order: { readonly position: number; readonly id: string }[] = [];
  let head = 0;
  let floor = 0;
  let size = initial.length;

  const mark = (id: string, entry: Entry<V>): void => {
    entry.position = head;
    order.push({ position: head, id });
    if (order.length > rememberedMax) forget();
  };

  // Superseded marks go first; only when that frees too little is history given up, half of it at once so that this
  // stays rare.
  const forget = (): void => {
    order = order.filter(({ id, position }) => entries.get(id)?.position === position);
    if (order.length <= rememberedMax / 2) return;
    const dropped = order.splice(0, order.length - Math.ceil(rememberedMax / 2));
    floor = dropped.at(-1)?.position ?? floor;
    for (const { id } of dropped) {
      if (entries.get(id)?.value === null) entries.delete(id);
    }
  };

  const knows = (position: number): boolean => Number.isSafeInteger(position) && position >= floor && position <= head;

  return {
    get head() {
      return head;
    },
    get size() {
      return size;
    },
    values: () => [...entries.values()].flatMap((entry) => (entry.value === null ? [] : [entry.value])),
    get: (id) => entries.get(id)?.value ?? undefined,
    put(value) {
      const entry = entries.get(value.id);
      if (entry === undefined || entry.value === null) {
        head += 1;
        const fresh: Entry<V> = { position: head, since: head, value, fields: new Set() };
        entries.set(value.id, fresh);
        size += 1;
        mark(value.id, fresh);
        return true;
      }
      const fields = changedFields(entry.value, value);
      if (fields.length === 0) return false;
      for (const field of fields) entry.fields.add(field);
      entry.value = value;
      head += 1;
      mark(value.id, entry);
      return true;
    },
    remove(id) {
      const entry = entries.get(id);
      if (entry === undefined || entry.value === null) return false;
      entry.value = null;
      size -= 1;
      head += 1;
      mark(id, entry);
      return true;
    },
    knows,
    after(position) {
      if (!knows(position)) return null;
      const patches: Patch<V>[] = [];
      const removed: string[] = [];
      for (let index = firstAfter(order, position); index < order.length; index += 1) {
        const change = order[index];
        const entry = change && entries.get(change.id);
        if (change === undefined || entry === undefined || entry.position !== change.position) continue;
        if (entry.value === null) removed.push(change.id);
        else patches.push(entry.since > position ? entry.value : picked(entry.value, entry.fields));
      }
      return { patches, removed };
    },
  };
}

function changedFields<V extends object>(before: V, after: V): (keyof V)[] {
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
