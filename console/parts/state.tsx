/** What a page shows where it has nothing to show: it loads, there is nothing, or it could not be had. */
import type { ComponentChildren } from 'preact';

/** One sentence, and what to do about it. `failed`: it is told at once to whoever does not see it. */
export function State({
  kind = 'empty',
  text,
  children,
}: {
  readonly kind?: 'empty' | 'loading' | 'failed';
  readonly text: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class={`state ${kind}`} role={kind === 'failed' ? 'alert' : 'status'}>
      <p>{text}</p>
      {children}
    </div>
  );
}
