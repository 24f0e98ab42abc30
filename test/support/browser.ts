/** A real browser: Debian's Chromium. */
import { chromium, type Browser } from 'playwright-core';
import { scaled } from './busy.ts';
import { peerPath } from './run/peers.ts';
import type { Scope } from './scope.ts';

/** On a machine that does nothing else, in ms. */
const START_MS_MAX = 30_000;

/** Starts one that asks nobody for anything by itself, and ends with the scope. */
export async function startBrowser(scope: Scope, args: readonly string[] = []): Promise<Browser> {
  // It makes a user directory of its own and removes it again.
  const browser = await chromium.launch({
    executablePath: await peerPath('chromium'),
    headless: true,
    timeout: scaled(START_MS_MAX),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...args,
    ],
  });
  scope.teardown(() => browser.close());
  return browser;
}
