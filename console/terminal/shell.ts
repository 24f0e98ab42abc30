/** A terminal on the screen, and the connection behind it: what is typed, drawn, pasted, resized, and lost. */
import { signal } from '@preact/signals';
import type { ServiceMessage } from '../../api/terminal/messages.ts';
import { confirmed } from '../parts/confirm.tsx';
import { notify } from '../parts/notice.tsx';
import { tellOfUse } from '../session.ts';
import { TERMINAL } from '../texts/terminal.ts';
import { Connection, type Login } from './connection.ts';
import { FileMoves } from './file-moves.ts';
import { pasteOf, shownLines } from './paste.ts';
import { openScreen, type Screen } from './xterm.ts';

/** What a shell that was hung up may have left switched: the mouse, bracketed paste, the cursor, colours. */
const RESTORED = '\u0018\u001B[!p\u001B[?1000;1002;1003;1006;2004l\u001B[?25h\u001B[0m';

/** Out of the other screen. On the first one it would move the cursor to where that was long ago. */
const FIRST_SCREEN = '\u001B[?1049l';

/**
 * A terminal that was lost is opened again after these, in ms, where a key signs in: agents that restart are back soon.
 */
const AGAIN_AFTER_MS: readonly number[] = [500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 30_000];

/** The size follows the window at this pace, in ms. */
const RESIZE_MS = 100;

/** How it is. `again`: when the next try begins; null: nobody tries. */
export type ShellState =
  | { readonly kind: 'opening'; readonly lost: string | null }
  | { readonly kind: 'open'; readonly opened: Extract<ServiceMessage, { readonly type: 'opened' }> }
  | { readonly kind: 'ended'; readonly text: string }
  | { readonly kind: 'lost'; readonly text: string; readonly isTrying: boolean };

/** One on a page. It ends with that. */
export class Shell {
  readonly state = signal<ShellState>({ kind: 'opening', lost: null });
  /** Whether somebody types though no shell is there: it goes nowhere, then or later. */
  readonly isTypingIntoNothing = signal(false);
  readonly files = new FileMoves((message) => this.#connection?.say(message));
  readonly #login: Omit<Login, 'size'>;
  readonly #refused: (why: string) => void;
  readonly #screen: Screen;
  #connection: Connection | null = null;
  #exit: Extract<ServiceMessage, { readonly type: 'exit' }> | null = null;
  #wasOpen = false;
  #tries = 0;
  /** Bytes that were typed since the last shell was there. */
  #droppedBytes = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isClosed = false;

  /** `refused`: nobody was ever signed in. `left`: somebody leaves the keyboard to the page. */
  constructor(
    parent: HTMLElement,
    login: Omit<Login, 'size'>,
    { refused, left }: { readonly refused: (why: string) => void; readonly left: () => void },
  ) {
    this.#login = login;
    this.#refused = refused;
    this.#screen = openScreen(parent);
    const { terminal, fit } = this.#screen;
    const text = new TextEncoder();
    terminal.onData((data) => this.#type(text.encode(data)));
    terminal.onBinary((data) => this.#type(Uint8Array.from(data, (letter) => letter.charCodeAt(0))));
    terminal.onResize(({ cols: columns, rows }) => this.#connection?.say({ type: 'resize', columns, rows }));
    terminal.attachCustomKeyEventHandler((event) => this.#isForTerminal(event, left));
    parent.addEventListener('paste', (event) => void this.#paste(event), { capture: true });
    const fitting = new ResizeObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(() => fit.fit(), RESIZE_MS);
    });
    let timer: ReturnType<typeof setTimeout> | undefined;
    fitting.observe(parent);
    this.#ended = () => {
      clearTimeout(timer);
      fitting.disconnect();
    };
    this.files.move.subscribe((move) => {
      if (move !== null) tellOfUse(); // a file that moves is in use, though nobody types
    });
    fit.fit();
    this.open();
  }

  readonly #ended: () => void;

  focus(): void {
    this.#screen.terminal.focus();
  }

  /** Whether what is drawn is also told to readers of screens. */
  readAloud(isOn: boolean): void {
    this.#screen.terminal.options.screenReaderMode = isOn;
  }

  /** Another one in place of what is over. */
  open(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const before = this.state.value;
    this.state.value = { kind: 'opening', lost: before.kind === 'lost' ? before.text : null };
    this.#exit = null;
    const { terminal } = this.#screen;
    const size = { columns: terminal.cols, rows: terminal.rows };
    this.#connection = new Connection(
      { ...this.#login, size },
      {
        said: (message) => this.#said(message),
        bytes: (channel, bytes, taken) => {
          if (channel === 'shell') terminal.write(bytes, taken);
          else this.files.arrived(bytes, taken);
        },
        over: (message) => this.#over(message),
      },
    );
    this.files.connected(this.#connection);
  }

  /** The page goes, or somebody ends it. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#ended();
    this.#connection?.close();
    this.#screen.close();
  }

  /** Nobody tries any more. */
  giveUp(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.state.value.kind === 'lost') this.state.value = { ...this.state.value, isTrying: false };
  }

  #said(message: Parameters<ConstructorParameters<typeof Connection>[1]['said']>[0]): void {
    if (message.type === 'exit') {
      this.#exit = message;
      return;
    }
    if (message.type !== 'opened') return this.files.said(message);
    this.#wasOpen = true;
    this.#tries = 0;
    this.state.value = { kind: 'open', opened: message };
    this.#tellOfDropped();
    this.focus();
  }

  #over(message: Extract<ServiceMessage, { readonly type: 'over' }> | null): void {
    if (this.#isClosed) return;
    const why = message?.message ?? '';
    this.files.over();
    if (!this.#wasOpen) return this.#refused(why);
    const { terminal } = this.#screen;
    const exit = this.#exit;
    const before = this.state.value;
    // a try that came to nothing lost nothing more than the first cut did
    const text =
      exit !== null
        ? TERMINAL.exited(exit.code, exit.signal)
        : before.kind === 'opening' && before.lost !== null
          ? before.lost
          : TERMINAL.lost(why, this.#connection?.untakenBytes ?? 0);
    const screen = terminal.buffer.active.type === 'alternate' ? FIRST_SCREEN : '';
    if (before.kind === 'open') terminal.write(`${RESTORED}${screen}\r\n\u001B[7m ${text} \u001B[0m\r\n`);
    if (exit !== null) {
      this.state.value = { kind: 'ended', text };
      return;
    }
    const mayTry = this.#login.signIn.type === 'key' && !FINAL.has(message?.reason ?? 'cut');
    const afterMs = mayTry ? AGAIN_AFTER_MS[this.#tries] : undefined;
    this.#tries += 1;
    this.state.value = { kind: 'lost', text, isTrying: afterMs !== undefined };
    if (afterMs !== undefined) this.#timer = setTimeout(() => this.open(), afterMs);
  }

  #type(bytes: Uint8Array): void {
    if (this.state.value.kind !== 'open') {
      this.#droppedBytes += bytes.length;
      this.isTypingIntoNothing.value = true;
      return;
    }
    if (this.#connection?.type(bytes) === false) notify({ text: TERMINAL.tooMuch, kind: 'failed' });
  }

  /** It was for a shell that is not there: what reaches another one halfway is worse than nothing. */
  #tellOfDropped(): void {
    const bytes = this.#droppedBytes;
    this.#droppedBytes = 0;
    this.isTypingIntoNothing.value = false;
    if (bytes > 0) notify({ text: TERMINAL.dropped(bytes), kind: 'failed' });
  }

  /** F6 leaves: all other keys are the terminal's, Tab among them. */
  #isForTerminal(event: KeyboardEvent, left: () => void): boolean {
    if (event.key !== 'F6' || event.ctrlKey || event.altKey || event.metaKey) return true;
    event.preventDefault();
    if (event.type !== 'keydown') return false;
    if (event.shiftKey) this.#type(new TextEncoder().encode('\u001B[17~'));
    else left();
    return false;
  }

  async #paste(event: ClipboardEvent): Promise<void> {
    event.preventDefault();
    event.stopPropagation();
    const paste = pasteOf(event.clipboardData?.getData('text/plain') ?? '');
    if (paste.text === '') return;
    const { title, text, action } = TERMINAL.paste;
    const isWanted =
      !paste.isAsked || (await confirmed({ title, text: text(paste.lines.length), items: shownLines(paste), action }));
    if (isWanted) this.#screen.terminal.paste(paste.text);
    this.focus();
  }
}

/** Why a terminal is over that nobody should open again by themselves. */
const FINAL: ReadonlySet<string> = new Set(['idle', 'old', 'session_over', 'misused']);
