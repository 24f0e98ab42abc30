/** All pages of the documentation in a real browser: Debian's Chromium. */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { EVENT_TYPES } from '../../../actors/events.ts';
import { GUIDE_PAGES } from '../../../api/docs/guide/pages.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { serveApi } from '../../support/api/fakes.ts';
import { startBrowser } from '../../support/browser.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;

/** A name of the API's by which pages come in the clear from elsewhere, so that they have no clipboard. */
const PLAIN_NAME = 'admin.example';

/** Smallest contrast of text and ground. Source: WCAG 2.2, 1.4.3, AA. */
const CONTRAST_MIN = 4.5;

/** Parsing the document and drawing it, on a busy machine, in ms. */
const VIEWER_MS_MAX = 30_000;

test.before(async () => {
  browser = await startBrowser(scope, [`--host-resolver-rules=MAP ${PLAIN_NAME} 127.0.0.1`]);
});

ava.after.always('the browser is closed', () => scope.end());

/** The viewer is not ours, and light only. */
const PAGES = [...Object.keys(GUIDE_PAGES), '/api/docs', '/asyncdoc'];

/** A phone, a tablet, and a laptop, in CSS pixels. */
const WIDTHS = [360, 768, 1_280];

/** Smallest text, in CSS pixels. */
const TEXT_PX_MIN = 14;

// What runs in the browser is text, as this project has no types of its own for what is there.

const OPEN_ALL = "document.querySelectorAll('details').forEach((details) => { details.open = true; })";

/** The texts whose contrast is too low, all details open. Source: WCAG 2.2, relative luminance and contrast ratio. */
const FAINT_TEXTS = `(() => {
  ${OPEN_ALL};
  const channels = (colour) => (colour.match(/[\\d.]+/gu) ?? []).map(Number);
  const luminance = (colour) => {
    const [red, green, blue] = channels(colour).map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (element) => {
    if (element === null) return 'rgb(255, 255, 255)';
    const { backgroundColor } = getComputedStyle(element);
    return channels(backgroundColor)[3] === 0 ? ground(element.parentElement) : backgroundColor;
  };
  const isText = (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== '';
  return [...document.querySelectorAll('body *')].filter((element) => [...element.childNodes].some(isText)).flatMap((element) => {
    const [lower, higher] = [luminance(getComputedStyle(element).color), luminance(ground(element))].sort((a, b) => a - b);
    const contrast = (higher + 0.05) / (lower + 0.05);
    return contrast < ${CONTRAST_MIN} ? [element.textContent.slice(0, 40) + ' ' + contrast.toFixed(2)] : [];
  });
})()`;

interface Opened {
  readonly page: Page;
  /** What the browser asked for, as paths; with the host where it is not ours. */
  readonly asked: string[];
  /** Errors of scripts and on the console, among them what the policy forbade. */
  readonly problems: string[];
}

async function open(t: ExecutionContext, path: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const { url } = await serveApi(t);
  const context = await browser.newContext(options);
  t.teardown(() => context.close());
  const page = await context.newPage();
  const asked: string[] = [];
  const problems: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) asked.push(request.url().replace(url, '').replace(/\?.*/u, ''));
  });
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(url + path);
  return { page, asked, problems };
}

test.serial('the page of events is whole without a script and loads nothing else', async (t) => {
  const { page, asked, problems } = await open(t, '/asyncdoc', { javaScriptEnabled: false });

  await page.getByRole('main').getByRole('link', { name: 'edge.node.registered' }).first().click();
  const article = page.locator('article[id="edge.node.registered"]');
  await article.getByText('Fields of data').click();

  t.true(await article.getByText('last_seen_at').first().isVisible());
  t.is(await page.locator('article').count(), EVENT_TYPES.length);
  t.deepEqual(asked, ['/asyncdoc']);
  t.deepEqual(problems, []);
});

/**
 * What a page of one width shows wrong: wider than the window, or text that is too small. What scrolls does so in a box
 * of its own.
 */
const MISFITS = `(() => {
  ${OPEN_ALL};
  const isText = (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== '';
  const small = [...document.querySelectorAll('body *')].filter((element) => [...element.childNodes].some(isText) && parseFloat(getComputedStyle(element).fontSize) < ${TEXT_PX_MIN});
  const scrolls = (element) => element !== null && (getComputedStyle(element).overflowX === 'auto' || scrolls(element.parentElement));
  const wide = [...document.querySelectorAll('body *')].filter((element) => element.getBoundingClientRect().right > innerWidth + 0.5 && !scrolls(element));
  return [...small.map((element) => 'small: ' + element.textContent.slice(0, 40)), ...wide.map((element) => 'wide: ' + element.tagName + ' ' + element.textContent.slice(0, 40)),
    ...(document.documentElement.scrollWidth > innerWidth ? ['the page is ' + document.documentElement.scrollWidth] : [])];
})()`;

/**
 * Goes on by Tab until the page is through. What can be clicked and was never reached, and what was reached without
 * being seen so.
 */
const CLICKABLE =
  "[...document.querySelectorAll('a[href], button, summary')].filter((element) => element.checkVisibility())";
const FOCUSED = `(() => {
  const element = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  return element === document.body ? null : { index: ${CLICKABLE}.indexOf(element), isSeen: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1, is: element.tagName + ' ' + element.textContent.slice(0, 40) };
})()`;

interface Focused {
  readonly index: number;
  readonly isSeen: boolean;
  readonly is: string;
}

for (const path of PAGES) {
  test.serial(`${path} has its landmarks, and headings in order`, async (t) => {
    const { page, asked, problems } = await open(t, path, { javaScriptEnabled: false });

    for (const role of ['banner', 'main', 'contentinfo'] as const) t.is(await page.getByRole(role).count(), 1, role);
    t.is(await page.getByRole('navigation', { name: 'Documentation' }).count(), 1);
    const levels = (await page.getByRole('heading').all()).map(async (heading) =>
      Number(await heading.evaluate((element: { readonly tagName: string }) => element.tagName.slice(1))),
    );
    const inOrder = await Promise.all(levels);
    t.is(inOrder.filter((level) => level === 1).length, 1);
    t.is(inOrder[0], 1);
    t.true(inOrder.every((level, index) => index === 0 || level <= (inOrder[index - 1] ?? 0) + 1));
    t.is(await page.locator('html').getAttribute('lang'), 'en');
    t.deepEqual([asked, problems], [[path], []]);
  });

  test.serial(`${path} fits phones, tablets and laptops, light and dark, in letters that can be read`, async (t) => {
    const { page, problems } = await open(t, path);

    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      t.deepEqual(await page.evaluate<string[]>(FAINT_TEXTS), [], colorScheme);
    }
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      t.deepEqual(await page.evaluate<string[]>(MISFITS), [], `${width}`);
    }
    t.deepEqual(problems, []);
  });

  test.serial(`${path} can be used without a mouse`, async (t) => {
    const { page } = await open(t, path);
    const clickable = await page.evaluate<number>(`${CLICKABLE}.length`);
    const reached = new Set<number>();
    const unseen: string[] = [];

    await page.keyboard.press('Tab');
    t.is((await page.evaluate<Focused>(FOCUSED)).is, 'A To the content');
    for (
      let focused: Focused | null = await page.evaluate<Focused | null>(FOCUSED);
      focused !== null;
      focused = await page.evaluate<Focused | null>(FOCUSED)
    ) {
      reached.add(focused.index);
      if (!focused.isSeen) unseen.push(focused.is);
      await page.keyboard.press('Tab');
      if (reached.size > clickable + 1) break;
    }

    t.deepEqual(unseen, []);
    t.is(reached.size - Number(reached.has(-1)), clickable); // -1: boxes that scroll
  });
}

/** The browser's clipboard, read by a page that may. */
async function clipboard(page: Page): Promise<string> {
  await page.bringToFront();
  return page.evaluate<string>('navigator.clipboard.readText()');
}

const PERMISSIONS = { permissions: ['clipboard-read', 'clipboard-write'] };

test.serial('commands are copied by mouse and by keyboard, without comments and without running at once', async (t) => {
  const { page, problems } = await open(t, '/', PERMISSIONS);
  const button = page.getByRole('button', { name: 'Copy export EDGE_URL=' });

  t.is(await page.locator('button.copy:visible').count(), await page.locator('figure.shell').count());
  await button.click();
  await page.getByRole('status').getByText('Copied').waitFor();
  t.is(await button.textContent(), 'Copied');
  t.regex(await clipboard(page), /^export EDGE_URL=\S+\nread -rs EDGE_API_KEY && export EDGE_API_KEY$/u);

  const another = page.getByRole('button', { name: 'Copy edge cluster create prod' });
  await another.focus();
  await page.keyboard.press('Enter');
  await page.locator('figure').filter({ has: another }).getByText('Copied').waitFor();
  t.is(await clipboard(page), 'edge cluster create prod');
  t.deepEqual(problems, []);
});

test.serial('no comment is copied, and what stands around it is', async (t) => {
  const { page } = await open(t, '/guide/commands', PERMISSIONS);
  const figures = page.locator('figure.shell').filter({ has: page.locator('.comment') });

  t.true((await figures.count()) > 0);
  for (const figure of await figures.all()) {
    const shown = (await figure.locator('code').first().textContent()) ?? '';
    const comments = await figure.locator('.comment').allTextContents();
    await figure.getByRole('button').click();
    await figure.getByText('Copied').waitFor();

    const wanted = comments.reduce((text, comment) => text.replace(comment, ''), shown);
    t.is(await clipboard(page), wanted.replaceAll(/[ \t]+$/gmu, '').trim());
  }
});

test.serial('they are copied also where the page came in the clear from another machine', async (t) => {
  const { page: reader } = await open(t, '/', PERMISSIONS);
  const page = await reader.context().newPage();
  await page.goto(reader.url().replace('127.0.0.1', PLAIN_NAME));
  t.is(await page.evaluate('typeof navigator.clipboard'), 'undefined');

  const button = page.getByRole('button', { name: 'Copy edge cluster create prod' });
  await button.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('Copied').waitFor();

  t.is(
    await page.evaluate("document.activeElement.getAttribute('aria-label')"),
    'Copy edge cluster create prod',
    'the keyboard stays there',
  );
  t.is(await clipboard(reader), 'edge cluster create prod');
});

test.serial('the viewer shows every type, from this machine alone and within its policy', async (t) => {
  const { page, asked, problems } = await open(t, '/asyncdoc/viewer');

  await page.locator('#viewer .aui-root').waitFor({ timeout: VIEWER_MS_MAX });

  for (const type of EVENT_TYPES) t.true((await page.getByText(type, { exact: true }).count()) > 0, type);
  t.deepEqual(asked.toSorted(), [
    '/api/asyncapi',
    '/asyncdoc/viewer',
    '/asyncdoc/viewer/start.js',
    '/asyncdoc/viewer/viewer.css',
    '/asyncdoc/viewer/viewer.js',
  ]);
  t.deepEqual(problems, []);
});

test.serial('without a script the viewer says so, and leads back to the page that needs none', async (t) => {
  const { page } = await open(t, '/asyncdoc/viewer', { javaScriptEnabled: false });

  t.true(await page.getByText('It needs JavaScript').isVisible());
  await page.getByRole('link', { name: 'Back to the plain page' }).click();
  t.is(new URL(page.url()).pathname, '/asyncdoc');
});
