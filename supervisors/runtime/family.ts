/**
 * A family: actors of one kind under silent parents, at most 128 children each, because nact copies a parent's child
 * map on every message the parent handles.
 */
/* eslint-disable typescript/no-generated-empty-object-type -- nact types its Ref as an empty class */
import { spawn } from 'nact';
import type { ActorSystemRef, Ref } from 'nact';
import { CHILDREN_PER_SHARD_MAX } from '../../actors/limits.ts';

interface Shard {
  readonly parent: Ref<never>;
  children: number;
}

/** A slot under a parent. Must be left when its actor has stopped. */
export interface Slot {
  readonly parent: Ref<never>;
  /** Unique in the whole family, and a name that nact takes. */
  readonly name: string;
  leave(): void;
}

export interface Family {
  /** A slot for one more actor. */
  take(label: string): Slot;
  size(): number;
  shards(): number;
}

/** A family in a system. Parents with room are found in constant time. */
export function createFamily(system: ActorSystemRef, kind: string): Family {
  const withRoom: Shard[] = [];
  let shards = 0;
  let members = 0;
  let incarnations = 0;

  function open(): Shard {
    shards += 1;
    const parent = spawn(system, (state: null) => state, `${kind}-family-${shards}`, {
      initialState: null,
    }) as Ref<never>;
    const shard = { parent, children: 0 };
    withRoom.push(shard);
    return shard;
  }

  return {
    take(label) {
      const shard = withRoom.at(-1) ?? open();
      shard.children += 1;
      members += 1;
      if (shard.children >= CHILDREN_PER_SHARD_MAX) withRoom.splice(withRoom.indexOf(shard), 1);
      incarnations += 1;
      let left = false;
      return {
        parent: shard.parent,
        name: `${label}.${incarnations}`,
        leave() {
          if (left) return;
          left = true;
          members -= 1;
          shard.children -= 1;
          if (shard.children === CHILDREN_PER_SHARD_MAX - 1) withRoom.push(shard);
        },
      };
    },
    size: () => members,
    shards: () => shards,
  };
}
