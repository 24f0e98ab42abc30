/** Updates that somebody starts: what was given, and a create in doubt, outlast the page, until somebody signs out. */
import { signal } from '@preact/signals';
import { keyed } from '../../creates.ts';
import type { Live } from '../../live.ts';
import { done } from '../../parts/acts.tsx';
import { givenSoon } from '../../parts/typed-soon.ts';
import { UPDATES as T } from '../../texts/updates.ts';
import { EMPTY_UPDATE_FORM, type WantedUpdate } from '../create-update.tsx';

/** A connection is as long as the same one is signed in. */
const startsOf = new WeakMap<Live, UpdateStarts>();

/** Those of whoever is signed in. */
export function updateStartsOf(live: Live): UpdateStarts {
  const starts = startsOf.get(live) ?? new UpdateStarts(live);
  startsOf.set(live, starts);
  return starts;
}

/** Of one connection. */
class UpdateStarts {
  /** What the form says when it is opened: what was taken back, or was not done, to be mended. */
  readonly form = signal(EMPTY_UPDATE_FORM);
  /** Rises with each that is started. */
  readonly round = signal(0);
  readonly #create;

  constructor(live: Live) {
    this.#create = keyed(live.api.create_self_update_request.mutate);
  }

  /** Soon, whichever page is seen then. */
  start({ first, form: given, input, count }: WantedUpdate): void {
    const act = async (): Promise<boolean> => {
      const isStarted = await done(() => this.#create(input), T.started);
      if (isStarted) this.round.value += 1;
      return isStarted;
    };
    givenSoon({ place: this.form, first, given, empty: EMPTY_UPDATE_FORM, title: T.starting(count), act });
  }
}
