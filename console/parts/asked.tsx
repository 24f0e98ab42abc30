/** What is said as long as there is no answer, or where the last one did not come. */
import type { Polled } from '../poll.ts';
import { TEXTS } from '../texts.ts';
import { State } from './state.tsx';

/** Nothing, once there is an answer. `text`: what could not be had, as a sentence. */
export function Asked({
  polled: { data, failure, again },
  text = TEXTS.states.failed,
}: {
  readonly polled: Pick<Polled<unknown>, 'data' | 'failure' | 'again'>;
  readonly text?: string;
}) {
  if (failure === null) return data === null ? <State kind="loading" text={TEXTS.states.loading} /> : null;
  return (
    <State kind="failed" text={`${text} ${failure}`}>
      <button type="button" onClick={again}>
        {TEXTS.states.again}
      </button>
    </State>
  );
}
