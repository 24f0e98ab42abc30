/** How long ago something was; exactly when, for whoever points at it. */
import { nowMs } from '../clock.ts';
import { agoOf, exactly } from '../relative-time.ts';

/** Goes on by itself. */
export function Ago({ at }: { readonly at: string }) {
  return (
    <time datetime={at} title={exactly(at)}>
      {agoOf(at, nowMs.value)}
    </time>
  );
}
