/** Plays a recording in a terminal of the page, which nobody types into. */
import { signal } from '@preact/signals';
import { openScreen, type Screen } from '../terminal/xterm.ts';
import { countUntil, drawnSize, type Tape } from './tape.ts';

/** How often it goes on, in ms: twenty times a second looks fluent. */
const STEP_MS = 50;

/** Empties a screen, and ends whatever sequence it was in: RIS of ECMA-48. */
const FULL_RESET = '\u001Bc';

/** Stands at the beginning. */
export class Player {
  readonly positionMs = signal(0);
  readonly isPlaying = signal(false);
  /** So many times as fast. */
  speed = 1;
  readonly #screen: Screen;
  #tape: Tape;
  /** Events that are drawn. */
  #drawn = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(place: HTMLElement, tape: Tape) {
    this.#tape = tape;
    const { columns: cols, rows } = drawnSize(tape.size);
    this.#screen = openScreen(place, { cols, rows, disableStdin: true, cursorBlink: false });
    const { terminal } = this.#screen;
    terminal.attachCustomKeyEventHandler(() => false); // keys are the page's: Tab leads on
    if (terminal.textarea !== undefined) terminal.textarea.tabIndex = -1;
    this.#drawUntil(0);
  }

  get durationMs(): number {
    return this.#tape.durationMs;
  }

  /** From where it stands; from the beginning, where it stands at the end. */
  play(): void {
    if (this.isPlaying.value) return;
    if (this.positionMs.value >= this.durationMs) this.seek(0);
    this.isPlaying.value = true;
    let lastMs = performance.now();
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      this.#goOn(this.positionMs.value + (nowMs - lastMs) * this.speed);
      lastMs = nowMs;
    }, STEP_MS);
  }

  pause(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.isPlaying.value = false;
  }

  /** Shows what was seen then. */
  seek(atMs: number): void {
    const toMs = Math.min(Math.max(0, atMs), this.durationMs);
    if (toMs < this.positionMs.value) this.#clear();
    this.#drawUntil(toMs);
  }

  /** Shows what was seen after this event. */
  seekEvent(place: number): void {
    this.seek(this.#tape.events[place]?.atMs ?? 0);
  }

  /** The same recording with other times, at the same event. */
  retime(tape: Tape): void {
    this.#tape = tape;
    this.positionMs.value = tape.events[this.#drawn - 1]?.atMs ?? 0;
  }

  close(): void {
    this.pause();
    this.#screen.close();
  }

  #goOn(toMs: number): void {
    this.#drawUntil(Math.min(toMs, this.durationMs));
    if (toMs >= this.durationMs) this.pause();
  }

  #clear(): void {
    const { terminal } = this.#screen;
    const { columns, rows } = drawnSize(this.#tape.size);
    // written as well: what was written before may not be drawn yet
    terminal.write(FULL_RESET, () => terminal.resize(columns, rows));
    this.#drawn = 0;
  }

  /** What is shown between two sizes is written at once, and a size is taken where it stood. */
  #drawUntil(atMs: number): void {
    const { terminal } = this.#screen;
    const until = countUntil(this.#tape, atMs);
    let text = '';
    for (; this.#drawn < until; this.#drawn += 1) {
      const event = this.#tape.events[this.#drawn];
      if (event?.type === 'output') text += event.text;
      if (event?.type !== 'resize') continue;
      const { columns, rows } = drawnSize(event.size);
      terminal.write(text, () => terminal.resize(columns, rows));
      text = '';
    }
    if (text !== '') terminal.write(text);
    this.positionMs.value = atMs;
  }
}
