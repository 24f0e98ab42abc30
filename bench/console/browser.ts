/**
 * Pages of the console in Debian's Chromium: signed in by cookie, in a browser of their own each, so with a cold cache.
 */
import type { Browser, CDPSession, Page } from 'playwright-core';
import type { Scope } from '../../test/support/scope.ts';
import { startBrowser } from '../../test/support/browser.ts';
import { missingPeers } from '../../test/support/run/peers.ts';

/** Size of the window, in CSS pixels. */
const VIEWPORT = { width: 1_280, height: 800 };

/** Timeout of what a page is to show, in ms. */
const SHOWN_MS_MAX = 60_000;

/** An admin, and what opens it. */
export interface ConsolePlace {
  readonly port: number;
  readonly masterKey: string;
}

/** A page, and how it is asked what no script can know. */
export interface OpenPage {
  readonly page: Page;
  /** Bytes of living objects of its scripts, after all garbage is gone. */
  heldBytes(): Promise<number>;
  /** Time that its main thread was busy since it was opened, in s. */
  busySeconds(): Promise<number>;
  close(): Promise<void>;
}

/** How a page is opened. */
export interface OpenOptions {
  /** What runs before any of the page's own scripts. */
  readonly before?: string;
}

/** Starts the browser; says what is missing where there is none. */
export async function benchBrowser(scope: Scope): Promise<Browser> {
  if ((await missingPeers(['chromium'])).length > 0)
    throw new Error('the bench of the console needs Chromium: apt-get install chromium');
  return startBrowser(scope);
}

/** The address that pages of this admin come from. */
export function originOf({ port }: Pick<ConsolePlace, 'port'>): string {
  return `http://127.0.0.1:${port}`;
}

/** Signs in as the page does; returns the cookie as a browser sends it. */
export async function signIn(place: ConsolePlace): Promise<string> {
  const answer = await fetch(`${originOf(place)}/console/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: originOf(place) },
    body: JSON.stringify({ key: place.masterKey }),
  });
  const [cookie] = answer.headers.getSetCookie();
  if (answer.status !== 201 || cookie === undefined)
    throw new Error(`signing in: ${answer.status} ${(await answer.text()).slice(0, 300)}`);
  return cookie.split(';', 1)[0] ?? '';
}

/** Opens an address in a browser that knows nothing yet; `cookie`: what it is signed in by. */
export async function openPage(
  browser: Browser,
  address: string,
  cookie: string | null,
  { before }: OpenOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: VIEWPORT });
  try {
    if (cookie !== null) {
      const [name = '', value = ''] = cookie.split('=', 2);
      await context.addCookies([{ name, value, url: new URL(address).origin, httpOnly: true, sameSite: 'Strict' }]);
    }
    if (before !== undefined) await context.addInitScript(before);
    const page = await context.newPage();
    page.setDefaultTimeout(SHOWN_MS_MAX);
    const cdp = await context.newCDPSession(page);
    await cdp.send('Performance.enable');
    await page.goto(address);
    return {
      page,
      heldBytes: () => heldBytes(cdp),
      busySeconds: () => busySeconds(cdp),
      close: () => context.close(),
    };
  } catch (error) {
    await context.close();
    throw error;
  }
}

async function heldBytes(cdp: CDPSession): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage');
  await cdp.send('HeapProfiler.collectGarbage'); // finalisers of the first round free the rest
  return (await cdp.send('Runtime.getHeapUsage')).usedSize;
}

async function busySeconds(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
}

/** Asks a page by an expression of JavaScript. */
export async function asked<T>({ page }: Pick<OpenPage, 'page'>, expression: string): Promise<T> {
  return page.evaluate<T>(expression);
}
