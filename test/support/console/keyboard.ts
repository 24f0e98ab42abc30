/** The console as somebody uses it who has no mouse: nothing gets the focus but by Tab, or by the page itself. */
import type { Locator, Page } from 'playwright-core';

/** Presses of Tab after which a page has no stop left that was not seen: the longest of the tests has some 200. */
const TABS_MAX = 500;

/**
 * Goes by Tab to what is wanted, the first where there are several; presses nothing where it has the focus already.
 * Fails where Tab does not lead there.
 */
export async function tabTo(page: Page, wanted: Locator): Promise<void> {
  const first = wanted.first();
  await first.waitFor();
  const focused = first.and(page.locator(':focus'));
  for (let pressed = 0; pressed <= TABS_MAX; pressed += 1) {
    if ((await focused.count()) > 0) return;
    // a terminal keeps Tab to itself: F6 leaves it, as its page says
    const isKept = await page.evaluate<boolean>("document.activeElement?.closest('.xterm') != null");
    await page.keyboard.press(isKept ? 'F6' : 'Tab');
  }
  throw new Error(`Tab does not lead to ${String(wanted)}`);
}

/** Goes by Tab to what is wanted, and presses Enter there. */
export async function enter(page: Page, wanted: Locator): Promise<void> {
  await tabTo(page, wanted);
  await page.keyboard.press('Enter');
}

/** Presses a button, the first of that name. */
export async function press(page: Page, name: string | RegExp): Promise<void> {
  await enter(page, page.getByRole('button', { name }));
}

/** The same of one that opens a dialog: who types sees it first. */
export async function pressOpening(page: Page, name: string | RegExp): Promise<void> {
  await press(page, name);
  await page.locator('dialog[open]').first().waitFor();
}

/** Answers the dialog that is open, by the button of that name. */
export async function answer(page: Page, name: string): Promise<void> {
  await enter(page, page.getByRole('dialog').getByRole('button', { name }));
}

/** Answers the dialog that is open by typing the name that it asks for. Fails where it asks for another, or none. */
export async function answerWith(page: Page, name: string): Promise<void> {
  await page.getByRole('dialog').getByText(`To go on, type ${name}`, { exact: true }).waitFor();
  await page.keyboard.insertText(name);
  await page.keyboard.press('Enter');
}

/** Goes by Tab to a select, and by arrow keys, from its first option on, to the one of that name. */
export async function chosen(page: Page, select: Locator, option: string): Promise<void> {
  await tabTo(page, select);
  const names = (await select.first().locator('option').allTextContents()).map((name) => name.trim());
  const place = names.indexOf(option);
  if (place === -1) throw new Error(`no "${option}" among ${names.join(', ')}`);
  await page.keyboard.press('Home');
  for (let step = 0; step < place; step += 1) await page.keyboard.press('ArrowDown');
}

/** Goes by Tab to a box or one of several, and chooses it. */
export async function ticked(page: Page, box: Locator): Promise<void> {
  await tabTo(page, box);
  await page.keyboard.press('Space');
}

/** Types into the field that has the focus, and goes on to the next. */
export async function typed(page: Page, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    if (text !== '') await page.keyboard.insertText(text);
    await page.keyboard.press('Tab');
  }
}

/** Goes by Tab to a field, and types this in place of what it has. */
export async function typedInto(page: Page, field: Locator, text: string): Promise<void> {
  await tabTo(page, field);
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(text);
}

/** All that a page keeps: its stores, its address and what it shows. */
export function kept(page: Page): Promise<string> {
  return page.evaluate<string>(
    'JSON.stringify([{...localStorage}, {...sessionStorage}, location.href]) + document.body.innerHTML',
  );
}
