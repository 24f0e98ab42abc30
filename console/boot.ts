/**
 * Runs before the console. Where a script of that cannot be had, as between two builds, nothing would be drawn: then it
 * says so, and loads the page anew once it is served. A script of its own name, since the policy takes none in markup.
 */
import { BOOT } from './texts/boot.ts';

/** Waited before the page is loaded anew, in ms. */
const AGAIN_MS = 5_000;

/** What is of the console itself: scripts of an extension of the browser may fail as they like. */
const isOwn = (target: EventTarget | null): boolean =>
  target instanceof HTMLScriptElement && target.src.startsWith(`${location.origin}/console/assets/`);

let isTold = false;

addEventListener(
  'error',
  ({ target }) => {
    if (isTold || !isOwn(target)) return;
    isTold = true;
    const line = document.createElement('p');
    line.setAttribute('role', 'alert');
    line.textContent = BOOT;
    (document.getElementById('app') ?? document.body).replaceChildren(line);
    setTimeout(() => void loadAnew(), AGAIN_MS);
  },
  true, // such an event does not rise
);

/** A page that is loaded while nobody serves it is the browser's own, which tries nothing. */
async function loadAnew(): Promise<void> {
  // null: nobody is there, and is asked again below
  const answer = await fetch(location.href, { cache: 'no-cache' }).catch(() => null);
  if (answer?.ok === true) location.reload();
  else setTimeout(() => void loadAnew(), AGAIN_MS);
}
