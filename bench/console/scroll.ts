/**
 * `console scroll`: the list of nodes from end to end, a window a frame, and by a wheel that is turned fast. A frame is
 * blank where a part of the window had no row once it was drawn.
 */
import type { Browser } from 'playwright-core';
import { WATCHED_NODES_MAX } from '../../api/feeds/limits.ts';
import type { CaseOptions } from '../cases/options.ts';
import { verdict } from '../cases/findings.ts';
import { awaitCalm } from '../method/machine.ts';
import { quantile } from '../method/statistics.ts';
import { asked, openPage, originOf, signIn, type ConsolePlace, type OpenPage } from './browser.ts';

/** How fast the wheel is turned, in CSS pixels a second, and for how long at most, in s. */
const WHEEL_PX_PER_SECOND = 8_000;
const WHEEL_SECONDS_MAX = 10;

/** Height of a row, in CSS pixels. Source: console/parts/grid.tsx. */
const ROW_PX = 40;

/** Watches the table: after each frame, whether all of its window had rows. `step` moves it on. */
const WATCH = `(() => {
  const box = document.querySelector('.list .grid[role=grid]');
  const body = box.querySelector('.body');
  const look = globalThis.benchScroll = { blank: 0, frames: 0, apart: [], last: null, isOn: true, step: 0, ended: null };
  const isBlank = () => {
    const [window, all] = [box.getBoundingClientRect(), body.getBoundingClientRect()];
    const [first, last] = [body.firstElementChild, body.lastElementChild];
    if (first === null || first.textContent === '' || last.textContent === '') return true;
    const top = Math.max(all.top, window.top + box.querySelector('.head').offsetHeight);
    const bottom = Math.min(all.bottom, window.top + box.clientHeight);
    return first.getBoundingClientRect().top > top + 1 || last.getBoundingClientRect().bottom < bottom - 1;
  };
  const { port1, port2 } = new MessageChannel(); // a message comes after the frame is drawn
  const drawn = (now) => {
    if (look.last !== null) look.apart.push(now - look.last);
    look.last = now;
    port1.postMessage(null);
  };
  port2.onmessage = () => {
    if (!look.isOn) return port2.close();
    look.frames += 1;
    if (isBlank()) look.blank += 1;
    const isEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 1;
    if (isEnd && look.step > 0) return look.ended?.();
    if (look.step > 0) box.scrollTop += box.clientHeight - ${ROW_PX};
    requestAnimationFrame(drawn);
  };
  requestAnimationFrame(drawn);
})()`;

interface Looked {
  readonly blank: number;
  readonly frames: number;
  readonly apart: readonly number[];
}

/** The fleet of the service; above what one feed may hold, what the page says of it. */
export async function scroll(
  options: CaseOptions,
  browser: Browser,
  place: ConsolePlace,
  nodes: number,
): Promise<void> {
  const { report } = options;
  const cookie = await signIn(place);
  const calm = await awaitCalm();
  const began = performance.now();
  const open = await openPage(browser, `${originOf(place)}/console/nodes`, cookie);
  const common = { side: 'product', rows: nodes, ratio: null, idle_before: calm.idlePercent };
  try {
    if (nodes > WATCHED_NODES_MAX) {
      await open.page.getByText('There are more nodes than a page can follow at once.').waitFor();
      report.note(
        `console scroll: with ${nodes} nodes the page asks for a cluster: it shows ${WATCHED_NODES_MAX} at most`,
      );
      report.add({
        case: 'console scroll',
        ...common,
        seconds: (performance.now() - began) / 1_000,
        rows_shown: 0,
        verdict: 'missed',
      });
      return;
    }
    await open.page.locator('.list .grid .body .row').first().waitFor();
    const readySeconds = (performance.now() - began) / 1_000;
    await looked(open, 'console scroll', () => toTheEnd(open));
    await looked(open, 'console wheel', () => wheeled(open, nodes));

    async function looked(at: OpenPage, name: string, work: () => Promise<void>): Promise<void> {
      const from = performance.now();
      await asked(at, "document.querySelector('.list .grid[role=grid]').scrollTop = 0");
      await work();
      const seen = await asked<Looked>(at, '(benchScroll.isOn = false, { ...benchScroll, ended: null })');
      report.add({
        case: name,
        ...common,
        seconds: (performance.now() - from) / 1_000,
        ready_seconds: readySeconds,
        rows_shown: await asked<number>(at, "document.querySelector('.list .grid').ariaRowCount - 1"),
        frames: seen.frames,
        blank_frames: seen.blank,
        frame_p95_ms: quantile(seen.apart, 0.95),
        frame_longest_ms: quantile(seen.apart, 1),
        held_mib: (await at.heldBytes()) / 1_048_576,
        verdict: verdict(calm.quiet, seen.blank === 0),
      });
    }
  } finally {
    await open.close();
  }
}

/** A window a frame, as keys do it, until the last row is seen. */
async function toTheEnd(open: OpenPage): Promise<void> {
  await asked(open, WATCH);
  await asked(open, 'new Promise((resolve) => Object.assign(benchScroll, { step: 1, ended: resolve }))');
}

/** By the browser's own scrolling. */
async function wheeled(open: OpenPage, rows: number): Promise<void> {
  const cdp = await open.page.context().newCDPSession(open.page);
  const box = await open.page.locator('.list .grid').first().boundingBox();
  if (box === null) throw new Error('there is no list');
  await asked(open, WATCH);
  await cdp.send('Input.synthesizeScrollGesture', {
    x: box.x + box.width / 2,
    y: box.y + box.height / 2,
    yDistance: -Math.min(rows * ROW_PX, WHEEL_PX_PER_SECOND * WHEEL_SECONDS_MAX),
    speed: WHEEL_PX_PER_SECOND,
    preventFling: true,
    gestureSourceType: 'mouse',
  });
}
