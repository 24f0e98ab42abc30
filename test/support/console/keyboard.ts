/** The console as somebody uses it who has no mouse. */
import type { Page } from 'playwright-core';

/** Presses a button, the first of that name. */
export async function press(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole('button', { name }).first().focus();
  await page.keyboard.press('Enter');
}

/** The same of one that opens a dialog: who types sees it first. */
export async function pressOpening(page: Page, name: string | RegExp): Promise<void> {
  await press(page, name);
  await page.locator('dialog[open]').first().waitFor();
}

/** Answers the dialog that is open, by the button of that name. */
export async function answer(page: Page, name: string): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name }).focus();
  await page.keyboard.press('Enter');
}

/** Answers the dialog that is open, and asks for a name, by typing it. */
export async function answerWith(page: Page, name: string): Promise<void> {
  await page.keyboard.insertText(name);
  await page.keyboard.press('Enter');
}

/** Types into the field that has the focus, and goes on to the next. */
export async function typed(page: Page, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    if (text !== '') await page.keyboard.insertText(text);
    await page.keyboard.press('Tab');
  }
}

/** All that a page keeps: its stores, its address and what it shows. */
export function kept(page: Page): Promise<string> {
  return page.evaluate<string>(
    'JSON.stringify([{...localStorage}, {...sessionStorage}, location.href]) + document.body.innerHTML',
  );
}
