/** What is done to chosen nodes, and what is asked before. Pure. */
import type { NodeResource } from '../../actors/resources/node.ts';

/** Nodes that a form to run commands is filled in with: above it a command is clearer by cluster, label and status. */
export const RUN_NODES_MAX = 5_000;

/**
 * Nodes that one request to update names: 39 bytes each, in a message of 1 MiB. Source: maxPayload of
 * api/trpc/sockets.ts.
 */
export const UPDATE_NODES_MAX = 25_000;

/** A node in a list of those that something is done to: two may have one name. */
export function lineOf(id: string, node: NodeResource | undefined): string {
  const short = id.slice(0, 8);
  return node === undefined ? short : `${node.name} (${node.cluster_name}, ${short})`;
}

/**
 * What somebody has to type before one thing is deleted: its name, or where no keyboard has that, the start of its id.
 */
export function typedNameOf({ name, id }: { readonly name: string; readonly id: string }): string {
  return /^[\x21-\x7e](?:[\x20-\x7e]{0,58}[\x21-\x7e])?$/u.test(name) ? name : id.slice(0, 8);
}

/** Labels to be set, and keys to be removed. */
export interface LabelChanges {
  readonly set: Readonly<Record<string, string>>;
  readonly removed: readonly string[];
}

/** `KEY=VALUE` and `KEY` set, `KEY-` removes, as of `edge node label`. Null: nothing is to be done. */
export function labelChangesOf(text: string): LabelChanges | null {
  const words = text.split(/[\s,]+/u).filter((word) => word !== '');
  const isRemoval = (word: string): boolean => !word.includes('=') && word.endsWith('-');
  const removed = words.filter(isRemoval).map((word) => word.slice(0, -1));
  const set = words
    .filter((word) => !isRemoval(word))
    .map((word): [string, string] => {
      const at = word.indexOf('=');
      return at < 0 ? [word, ''] : [word.slice(0, at), word.slice(at + 1)];
    });
  return words.length === 0 ? null : { set: Object.fromEntries(set), removed };
}

/** They as a person reads them. */
export function changesText({ set, removed }: LabelChanges): string {
  return [
    ...Object.entries(set).map(([key, value]) => (value === '' ? key : `${key}=${value}`)),
    ...removed.map((key) => `${key}-`),
  ].join(' ');
}
