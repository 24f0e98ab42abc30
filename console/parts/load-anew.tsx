/** The way on where a part of the page could not be loaded. */
import { TEXTS } from '../texts.ts';

/** Loads the whole page anew: after an upgrade a part is not there any more, and some browsers ask for it only once. */
export function LoadAnew() {
  return (
    <button type="button" onClick={() => location.reload()}>
      {TEXTS.states.reload}
    </button>
  );
}
