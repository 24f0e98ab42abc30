/** Where the page is: its address, and how that changes without a page being loaded. */
import { signal } from '@preact/signals';
import { addressOf, isPage, routeOf, type Route } from './routes.ts';

/** The present page. */
export const route = signal<Route>(routeOf(location));

/** Goes to a page. With `isSame` its address takes the place of the present one: typing makes no history. */
export function go(to: Exclude<Route, { page: 'unknown' }>, { isSame = false } = {}): void {
  const address = addressOf(to);
  if (address === location.pathname + location.search) return;
  if (isSame) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  route.value = routeOf(location);
}

/** Takes over links to other pages of the console, as long as nobody wants them elsewhere, and the way back. */
export function takeOverLinks(): void {
  addEventListener('popstate', () => {
    route.value = routeOf(location);
  });
  addEventListener('click', (event) => {
    const anchor = event.target instanceof Element ? event.target.closest('a') : null;
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (anchor === null || !isPlain || event.defaultPrevented || anchor.target !== '' || anchor.hasAttribute('download'))
      return;
    const to = new URL(anchor.href);
    if (to.origin !== location.origin || !isPage(to.pathname) || to.hash !== '') return;
    event.preventDefault();
    if (to.href !== location.href) history.pushState(null, '', to);
    route.value = routeOf(location);
    scrollTo(0, 0);
  });
}
