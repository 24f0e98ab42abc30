/** How something is: a shape, a colour and a word, of which the word alone would do. */
import type { NodeStatus } from '../../actors/resources/node.ts';
import { TEXTS } from '../texts.ts';

/** The status of a node. */
export function Status({ status }: { readonly status: NodeStatus }) {
  return <span class={`status ${status}`}>{TEXTS.statuses[status]}</span>;
}
