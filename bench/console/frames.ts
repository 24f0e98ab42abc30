/** What a page is asked of its frames: how far apart they are, and when it first showed something. */
import { asked, type OpenPage } from './browser.ts';

/** Notes how far apart frames are, in ms, while it is on. */
const RECORDER = `(() => {
  const frames = (globalThis.benchFrames ??= { apart: [], last: null, isOn: false, runs: false });
  Object.assign(frames, { apart: [], last: null, isOn: true });
  if (frames.runs) return;
  frames.runs = true;
  const drawn = (now) => {
    if (frames.isOn && frames.last !== null) frames.apart.push(now - frames.last);
    frames.last = frames.isOn ? now : null;
    requestAnimationFrame(drawn);
  };
  requestAnimationFrame(drawn);
})()`;

/** Runs `work` and returns how far apart the frames of the page were meanwhile, in ms. */
export async function framesWhile(open: OpenPage, work: () => Promise<void>): Promise<readonly number[]> {
  await asked(open, RECORDER);
  await work();
  return asked(open, '(benchFrames.isOn = false, benchFrames.apart)');
}

/**
 * Unix time in ms with fractions at which, as of the first frame, an expression became true; null: not within the
 * patience.
 */
export async function trueAt(open: OpenPage, expression: string, msMax: number): Promise<number | null> {
  return asked(
    open,
    `new Promise((resolve) => {
      const until = performance.now() + ${msMax};
      const { port1, port2 } = new MessageChannel(); // a message comes after the frame is drawn
      const look = () => port1.postMessage(null);
      const end = (at) => (port2.close(), resolve(at));
      port2.onmessage = () => {
        if (${expression}) return end(performance.timeOrigin + performance.now());
        if (performance.now() > until) return end(null);
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    })`,
  );
}

/** How many nodes of a status the list says there are. */
export function listed(status: string): string {
  return `Number((document.querySelector('.chip .status.${status} ~ .number')?.textContent ?? '-1').replaceAll(',', ''))`;
}
