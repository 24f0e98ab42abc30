/** Pages of the console in a real browser, Debian's Chromium: opened, signed in to, looked at by axe. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { scaled } from '../busy.ts';
import { FLEET_KEYS } from '../fleet.ts';
import { ROOT } from '../source/source-text.ts';

/** A page, and what went wrong on it. */
export interface Opened {
  readonly page: Page;
  /** Errors of scripts and on the console, among them what the policy forbade. */
  readonly problems: string[];
  /** What was asked of somebody else. */
  readonly elsewhere: string[];
}

/** Where pages are opened: a browser and an admin. */
export interface Place {
  readonly browser: Browser;
  readonly url: string;
}

/** What a test waits for is there within this on a machine that does nothing else, in ms. */
const WAIT_MS_MAX = 30_000;

/** A browser of its own, at a page. */
export async function openPage(
  t: ExecutionContext,
  { browser, url }: Place,
  path = '/console',
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, ...options });
  context.setDefaultTimeout(scaled(WAIT_MS_MAX));
  t.teardown(() => context.close());
  const page = await context.newPage();
  const [problems, elsewhere]: [string[], string[]] = [[], []];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('dialog', (dialog) => {
    problems.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) elsewhere.push(request.url());
  });
  await page.goto(url + path);
  return { page, problems, elsewhere };
}

/** Signs in with what has the focus. */
export async function signIn(page: Page, key: string = FLEET_KEYS.API_KEY): Promise<void> {
  // the field takes the focus a moment after it is drawn
  await page.getByLabel('Key').and(page.locator(':focus')).waitFor();
  await page.keyboard.type(key);
  await page.keyboard.press('Enter');
}

/** Waits for the page of this title. */
export async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
}
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');

/** What axe finds on the page or in this part of it, as rule and place. */
async function violations(page: Page, part: string = 'html'): Promise<readonly string[]> {
  await page.evaluate(AXE);
  return page.evaluate<string[]>(
    `axe.run(${part === 'html' ? 'document' : JSON.stringify(part)}).then(({ violations, incomplete }) => [
      ...violations,
      // of text in the colour of its ground axe says that it cannot tell
      ...incomplete
        .filter(({ id }) => id === 'color-contrast')
        .map(({ id, nodes }) => ({ id, nodes: nodes.filter(({ any }) => any.some(({ data }) => data?.messageKey === 'equalRatio')) })),
    ].flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)))`,
  );
}

/**
 * What makes a page wider than its window, the last first; nothing where it fits. What scrolls by itself does not
 * count.
 */
function tooWide(page: Page): Promise<readonly string[]> {
  return page.evaluate<string[]>(`(() => {
    if (document.documentElement.scrollWidth <= innerWidth) return [];
    const right = (one) => Math.round(one.getBoundingClientRect().right);
    const clips = (one) => one !== null && (getComputedStyle(one).overflowX !== 'visible' || clips(one.parentElement));
    return [...document.body.querySelectorAll('*')].filter((one) => right(one) > innerWidth && !clips(one.parentElement))
      .slice(-5).reverse().map((one) => one.tagName + '.' + one.className + ' ' + right(one) + ' ' + one.textContent.slice(0, 60));
  })()`);
}

/**
 * Asks axe, and whether anything is too wide, light and dark, on a phone and a laptop unless other widths are given, in
 * pixels. The context bypasses the policy:
 * axe is a script from elsewhere.
 */
export async function looksWell(
  t: ExecutionContext,
  page: Page,
  name: string,
  widths: readonly number[] = [360, 1_280],
): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of widths) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' }); // a colour on its way is none
      await page.setViewportSize({ width, height: 800 });
      t.deepEqual(await violations(page), [], `${name}, ${colorScheme}, ${width}`);
      t.deepEqual(await tooWide(page), [], `${name} is wider than ${width}`);
    }
}

/** Whether an element stands within the window, and all that is in it within its own width. */
const FITS = `((one) => {
  const { left, right } = one.getBoundingClientRect();
  return left >= 0 && right <= innerWidth && one.scrollWidth <= one.clientWidth;
})`;

/**
 * The same of a part that lies over a page, by its selector: what axe finds in it, light and dark, for which the width
 * makes no difference, and whether a phone and a laptop show it without scrolling sideways.
 */
export async function partLooksWell(t: ExecutionContext, page: Page, part: string, name: string): Promise<void> {
  const one = page.locator(part).first();
  for (const width of [360, 1_280]) {
    await page.setViewportSize({ width, height: 800 });
    await one.waitFor();
    t.true(
      await page.evaluate<boolean>(`${FITS}(document.querySelector(${JSON.stringify(part)}))`),
      `${name} is wider than ${width}`,
    );
  }
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    t.deepEqual(await violations(page, part), [], `${name}, ${colorScheme}`);
    await one.waitFor(); // it was there all the time
  }
}

/** Set: pages that docs/console.md shows are taken anew. */
const KEEPS_PICTURES = process.env['EDGE_TEST_KEEP_PICTURES'] === 'yes';

/** A picture of what is seen now for the pages, light and dark, where pictures are taken anew. */
export async function pictured(page: Page, name: string): Promise<void> {
  if (!KEEPS_PICTURES) return;
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.screenshot({ path: join(ROOT, `docs/images/console-${name}-${colorScheme}.png`) });
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
}
