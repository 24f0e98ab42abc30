/** Ids of events that are told of again, when the answer to whoever told was lost. */
import { createHash } from 'node:crypto';

/**
 * The same id each time for what a node calls by this id of its own, so that repeats are known by it (V2). In the form
 * of a UUID v4, as those of all events (docs/api.md); no other node can come to it.
 */
export function eventIdOf(node: string, told: string): string {
  const hex = createHash('sha256').update(`${node}/${told}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-8${hex.slice(15, 18)}-${hex.slice(18, 30)}`;
}
