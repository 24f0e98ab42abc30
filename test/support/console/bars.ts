/** What bars of a page say while something goes on. */
import type { Page } from 'playwright-core';

/** What a bar said at one moment. */
export interface BarSeen {
  readonly label: string;
  readonly value: number;
  readonly max: number;
}

/** Keeps what bars say from now on, whenever the page is drawn. */
export async function watchBars(page: Page): Promise<void> {
  await page.evaluate(`{
    window.barsSeen = [];
    const look = () => {
      for (const bar of document.querySelectorAll('progress'))
        window.barsSeen.push({ label: bar.getAttribute('aria-label'), value: bar.value, max: bar.max });
      requestAnimationFrame(look);
    };
    look();
  }`);
}

/** What they said, in order. */
export function barsSeen(page: Page): Promise<readonly BarSeen[]> {
  return page.evaluate<BarSeen[]>('window.barsSeen');
}
