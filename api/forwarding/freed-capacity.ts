/**
 * Capacity for a node that comes into a cluster whose owner is full, while another admin has some: freed before it is
 * refused.
 */
import { z } from 'zod';
import { ok, type Result } from '../../actors/refusal.ts';
import { ClusterId } from '../../transport/protocol/ids.ts';
import { inTime, type Deadline } from './deadline.ts';
import type { ForwardedPart } from './forwarded-part.ts';
import { operation } from '../operation.ts';
import type { OperationPorts } from '../ports.ts';

/** Capacity that is not freed within this time, or the time of its request, helps nobody who waits, in ms. */
export const CAPACITY_FREED_MS_MAX = 1_500;

/** For other admins: the owner of the cluster moves another one of its own away, or this one. False: it cannot. */
export const make_room = operation({
  name: 'make_room',
  kind: 'mutation',
  summary: 'Make room for one more node in this cluster.',
  rest: null,
  input: z.strictObject({ cluster: ClusterId }),
  output: z.boolean(),
  ownedBy: ({ cluster: id }) => ({ kind: 'cluster', id }),
  repeatable: true,
  handle: async ({ cluster }, { ports }) => ok(await ports.makeRoom(cluster)),
});

/** Who comes where, and by whom the owner is asked. */
export interface Entering {
  /** Asked only where capacity is wanted. Null: nowhere. */
  entered(): Promise<ClusterId | null>;
  readonly ports: Pick<OperationPorts, 'standing' | 'makeRoom' | 'clock'>;
  forward<T>(part: ForwardedPart<T>): Promise<Result<T>>;
  /** Of the request: of both tries, and of what frees the capacity in between. */
  readonly deadline: Deadline;
}

/**
 * What `perform` comes to. Refused for want of capacity where there is some elsewhere: it is freed, and what was
 * refused is done once more. Then nothing had been done, so it is done once all the same.
 */
export async function withFreedCapacity<T>(perform: () => Promise<Result<T>>, entering: Entering): Promise<Result<T>> {
  const { ports } = entering;
  const first = await perform();
  if (first.ok || first.refusal.code !== 'degraded_mode' || ports.standing().kind === 'overfull') return first;
  const cluster = await entering.entered();
  if (cluster === null) return first;
  const asked = entering.forward<boolean>({
    operation: make_room.name,
    input: { cluster },
    afterLoss: 'again',
    ownedBy: () => ({ kind: 'cluster', id: cluster }),
    handle: async () => ok(await ports.makeRoom(cluster)),
  });
  const freed = asked.then((result) => result.ok && result.value);
  const waitMs = Math.min(CAPACITY_FREED_MS_MAX, entering.deadline.leftMs());
  return (await inTime(freed, waitMs, ports.clock)) === true ? perform() : first;
}
