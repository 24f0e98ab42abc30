/** How an execution ended, or that it did not: a shape, a colour and a word, of which the word alone would do. */
import type { ResultKind } from '../run/grouping.ts';
import { RUN } from '../texts/run.ts';

/** `exitCode`: said where it is not 0. */
export function Result({ kind, exitCode = null }: { readonly kind: ResultKind; readonly exitCode?: number | null }) {
  const word = RUN.results[kind];
  return (
    <span class={`status result-${kind}`}>
      {kind === 'failed' && exitCode !== null ? RUN.resultWith(word, exitCode) : word}
    </span>
  );
}
