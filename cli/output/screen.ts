/** A frame on a terminal that is drawn again in its place. */
import { painted } from './colours.ts';
import { cutTo } from '../table/layout.ts';

/** What a terminal is asked for here. Source: ECMA-48 and xterm: cursor home, erase to the end of line and screen. */
const HOME = '\u001B[H';
const CLEAR = '\u001B[2J';
const ERASE_LINE = '\u001B[K';
const ERASE_BELOW = '\u001B[J';
const HIDE_CURSOR = '\u001B[?25l';
const SHOW_CURSOR = '\u001B[?25h';

/** The terminal that is drawn on. */
export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  /** Whether it has not yet taken what was written before. */
  readonly writableNeedDrain?: boolean;
  write(text: string): unknown;
}

/** Draws one frame over the other. What was drawn last stays when it ends. */
export class Screen {
  readonly #terminal: Terminal;
  readonly #isColoured: boolean;
  #isOpen = false;

  constructor(terminal: Terminal, { isColoured }: { readonly isColoured: boolean }) {
    this.#terminal = terminal;
    this.#isColoured = isColoured;
  }

  /** Lines as they stand, as many as fit, and a last one that says what this is. */
  draw(text: string, footer: string): void {
    if (this.#terminal.writableNeedDrain === true) return; // the next frame says the same
    const lines = text.split('\n').slice(0, -1);
    const room = Math.max(1, this.#terminal.rows - 2);
    const hidden = lines.length - room;
    const shown = hidden > 0 ? lines.slice(0, room) : lines;
    const below = cutTo(hidden > 0 ? `${hidden} more; ${footer}` : footer, this.#terminal.columns);
    this.#terminal.write(
      `${this.#isOpen ? '' : `${HIDE_CURSOR}${CLEAR}`}${HOME}${[
        ...shown,
        this.#isColoured ? painted(below, 'faint') : below,
      ]
        .map((line) => `${line}${ERASE_LINE}\n`)
        .join('')}${ERASE_BELOW}`,
    );
    this.#isOpen = true;
  }

  end(): void {
    // what comes next stands where the terminal showed ^C
    if (this.#isOpen) this.#terminal.write(`\r${ERASE_LINE}${SHOW_CURSOR}`);
    this.#isOpen = false;
  }
}
