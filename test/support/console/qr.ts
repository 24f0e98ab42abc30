/** QR codes of pages, read as whoever holds a camera before the screen reads them. */
import type { Page } from 'playwright-core';
import { decodeQR } from 'qr/decode.js';

/** What it may take on a busy machine, in ms: the reader gives up after the time of a frame otherwise. */
const READ_MS_MAX = 60_000;

/** What the code on the page says, once it is drawn. Fails where nothing can be read. */
export async function readQr(page: Page): Promise<string> {
  await page.locator('canvas.qr[width]:not([width="0"])').waitFor();
  const { width, height, reds } = await page.evaluate<{ width: number; height: number; reds: number[] }>(`(() => {
    const { width, height } = document.querySelector('canvas.qr');
    const { data } = document.querySelector('canvas.qr').getContext('2d').getImageData(0, 0, width, height);
    return { width, height, reds: [...data.filter((_, index) => index % 4 === 0)] };
  })()`);
  const data = new Uint8ClampedArray(reds.flatMap((red) => [red, red, red, 255]));
  return decodeQR({ width, height, data }, { timeLimit: READ_MS_MAX });
}
