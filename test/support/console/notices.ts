/** Notices of the console of what is done soon, which stand for ten seconds: a busy machine may be later than that. */
import type { Page } from 'playwright-core';
import { enter } from './keyboard.ts';

/** How long a notice stands whose action can be taken back or failed, in ms. Source: console/parts/notice.tsx. */
const STANDS_MS = 10_000;

/** How long one stands that only says something, in ms. Source: the same. */
export const SAID_MS = 5_000;

/**
 * Has the notices of this page that stand for so long, until it is loaded anew, stand until somebody sends them away or
 * takes them back. Answers what lets the time pass of all that stand.
 */
export async function holdNotices(page: Page, standsMs: number = STANDS_MS): Promise<() => Promise<void>> {
  await page.evaluate(`(() => {
    const start = globalThis.setTimeout;
    globalThis.heldNotices = [];
    globalThis.setTimeout = (act, ms, ...words) =>
      ms === ${standsMs} ? (heldNotices.push(act), 0) : start(act, ms, ...words);
  })()`);
  return () => page.evaluate('(() => { for (const act of heldNotices.splice(0)) act(); })()');
}

/** The notice of what is done soon. */
export const waiting = (page: Page, title: string) => page.locator('.notice', { hasText: `${title}, in a moment.` });

/** Sends the notice away, by keyboard: what waits as long as it stands is done at once. */
export async function doNow(page: Page, title: string): Promise<void> {
  await enter(page, waiting(page, title).getByRole('button', { name: 'Send away' }));
}

/** Takes back what the notice says, by keyboard. */
export async function undo(page: Page, title: string): Promise<void> {
  await enter(page, waiting(page, title).getByRole('button', { name: 'Undo' }));
  await waiting(page, title).waitFor({ state: 'detached' });
}
