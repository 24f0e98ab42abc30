/** Where the page is: its address, and how that changes without a page being loaded. */
import { signal } from '@preact/signals';
import { isPage, routeOf, type Route } from './routes.ts';

/** The present page. */
export const route = signal<Route>(routeOf(location));

/** The address follows typing after this, in ms: browsers refuse a page that changes it too often (100 in 30 s). */
const TYPED_MS = 400;

/** What the address is to become; null: it is as it should be. */
let typed: { readonly address: string; readonly timer: ReturnType<typeof setTimeout> } | null = null;

/** Goes to a page. With `isTyped` its address takes the place of the present one: typing makes no history. */
export function go(address: string, { isTyped = false } = {}): void {
  if (isTyped) {
    forgetTyped();
    typed = { address, timer: setTimeout(writeTyped, TYPED_MS) };
    route.value = routeOf(new URL(address, location.origin));
    return;
  }
  writeTyped();
  if (address !== location.pathname + location.search) history.pushState(null, '', address);
  route.value = routeOf(location);
}

function writeTyped(): void {
  const address = forgetTyped();
  if (address !== null) history.replaceState(null, '', address);
}

function forgetTyped(): string | null {
  const address = typed?.address ?? null;
  clearTimeout(typed?.timer);
  typed = null;
  return address;
}

/** Takes over links to other pages of the console, as long as nobody wants them elsewhere, and the way back. */
export function takeOverLinks(): void {
  addEventListener('popstate', () => {
    forgetTyped();
    route.value = routeOf(location);
  });
  addEventListener('click', (event) => {
    const to = event.defaultPrevented ? null : pageBehind(event);
    if (to === null) return;
    event.preventDefault();
    writeTyped();
    if (to.href !== location.href) history.pushState(null, '', to);
    route.value = routeOf(location);
    scrollTo(0, 0);
  });
}

/** The page that a click is to lead to, here and now. Null: none, or the browser is to do it. */
function pageBehind({ target, button, ctrlKey, metaKey, shiftKey, altKey }: MouseEvent): URL | null {
  const anchor = target instanceof Element ? target.closest('a') : null;
  if (anchor === null || anchor.target !== '' || anchor.hasAttribute('download')) return null;
  if (button !== 0 || ctrlKey || metaKey || shiftKey || altKey) return null;
  const to = new URL(anchor.href);
  return to.origin === location.origin && isPage(to.pathname) && to.hash === '' ? to : null;
}
