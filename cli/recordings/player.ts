/** Shows a recording as fast as it was made, or otherwise. */
import type { Cast, TerminalSize } from '../../api/client/asciicast.ts';

/** How it is shown. */
export interface PlayOptions {
  /** Twice as fast with 2. Null: all at once. */
  readonly speed: number | null;
  /** Longer waits of the recording are made so long, in ms, before the speed counts. */
  readonly maxIdleMs: number;
  /** Ends it, also within a wait. */
  readonly stop: AbortSignal;
}

/** Where it is shown. */
export interface Stage {
  /** Resolves when it was taken. */
  write(text: string): Promise<void>;
  resize(size: TerminalSize): Promise<void>;
  /** Of a clock that never goes back. */
  nowMs(): number;
  /** Resolves after the time, or at once when `stop` is aborted. */
  wait(ms: number, stop: AbortSignal): Promise<void>;
}

/** Texts that are due are written together up to this many characters. */
const WRITE_CHARS_MAX = 65_536;

/** Shows all of it. Resolves at its end, or soon after `stop`. */
export async function playCast(cast: Cast, { speed, maxIdleMs, stop }: PlayOptions, stage: Stage): Promise<void> {
  const beganMs = stage.nowMs();
  let dueMs = 0;
  let lastMs = 0;
  let text = '';
  const show = async (): Promise<void> => {
    const shown = text;
    text = '';
    if (shown !== '') await stage.write(shown);
  };
  await stage.resize(cast.size);
  for (const event of cast.events()) {
    dueMs += speed === null ? 0 : Math.min(event.atMs - lastMs, maxIdleMs) / speed;
    lastMs = event.atMs;
    // Against the beginning, not the event before: small lateness does not add up.
    if (dueMs > stage.nowMs() - beganMs || text.length > WRITE_CHARS_MAX) await show();
    const waitMs = dueMs - (stage.nowMs() - beganMs);
    if (waitMs > 0) await stage.wait(waitMs, stop);
    if (stop.aborted) return;
    if (event.type === 'output') {
      text += event.text;
    } else {
      await show();
      await stage.resize(event.size);
    }
  }
  await show();
}
