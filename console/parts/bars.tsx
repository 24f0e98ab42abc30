/** What is told above every page: that nothing comes any more, and that somebody may be listening. */
import { exactly } from '../relative-time.ts';
import { isOutdated } from '../build.ts';
import { link } from '../live.ts';
import { signedIn } from '../session.ts';
import { TEXTS } from '../texts.ts';

/** Names of this machine: what goes there in the clear leaves nothing. */
const THIS_MACHINE = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/u;

/** How the connection is, where it is not well. */
export function ConnectionBar() {
  const { state, isStill, since } = link.value;
  const told = isStill ? TEXTS.shell.still : TEXTS.shell.stale;
  return (
    <div class="bars" role="status">
      {state === 'lost' && <p class="bar warn">{told(exactly(since))}</p>}
    </div>
  );
}

/** That another console is served than this page is of. */
export function BuildBar() {
  return (
    <div class="bars" role="status">
      {isOutdated.value && (
        <p class="bar warn">
          {TEXTS.shell.outdated}{' '}
          <button type="button" onClick={() => location.reload()}>
            {TEXTS.states.reload}
          </button>
        </p>
      )}
    </div>
  );
}

/** How this page came here, where everybody should know. */
export function TransportBar() {
  const now = signedIn.value;
  const isPlain = location.protocol === 'http:' && !THIS_MACHINE.test(location.hostname);
  const isOpen = now.kind === 'in' && now.me.principal === 'anonymous';
  return (
    <div class="bars" role="status">
      {isPlain && <p class="bar bad">{TEXTS.shell.plain}</p>}
      {isOpen && <p class="bar bad">{TEXTS.shell.open}</p>}
    </div>
  );
}
