/**
 * What a recorded program left switched in the terminal, and how it is switched back: a recording may end, or be left,
 * inside an editor.
 */

/**
 * Private modes that a terminal starts with: it wraps lines, and shows its cursor. All others are off. Source: xterm,
 * "ctlseqs".
 */
const ON_AT_FIRST: ReadonlySet<string> = new Set(['7', '25']);

/**
 * `CSI ? modes h|l`; `ESC =`, the keypad's other meaning; margins; more of the keys told; a stack of keyboard modes
 * (kitty).
 */
const SWITCHES =
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  /\u001B(?:\[\?(?<modes>[\d;]{1,64})(?<on>[hl])|(?<keypad>[=>])|\[(?<margins>\d{0,5}(?:;\d{0,5})?)r|\[>4(?<keys>;\d{1,5})?m|\[(?<pushed>[><])\d{0,5}u)/gu;

/** Longest beginning of a sequence that is kept until its end comes with the next piece, in characters. */
const SEQUENCE_CHARS_MAX = 80;

/** Ends whatever sequence was cut; plain text, the plain character set. */
const PLAIN = '\u0018\u001B\\\u001B[0m\u000F\u001B(B';

/** Follows what goes to a terminal. */
export interface ModeTracker {
  saw(text: string): void;
  /** What puts the terminal back. It moves the cursor only out of another screen. */
  restoring(): string;
}

/** A tracker of a terminal in which nothing was switched. */
export function createModeTracker(): ModeTracker {
  const switched = new Map<string, boolean>();
  let isKeypadSwitched = false;
  let hasMargins = false;
  let tellsKeys = false;
  let pushed = 0;
  let rest = '';

  function saw(found: Readonly<Record<string, string | undefined>>, whole: string): void {
    for (const mode of found['modes']?.split(';') ?? []) switched.set(mode, found['on'] === 'h');
    if (found['keypad'] !== undefined) isKeypadSwitched = found['keypad'] === '=';
    if (found['margins'] !== undefined) hasMargins = found['margins'] !== '';
    if (found['pushed'] !== undefined) pushed = Math.max(0, pushed + (found['pushed'] === '>' ? 1 : -1));
    if (whole.startsWith('\u001B[>4')) tellsKeys = found['keys'] !== undefined;
  }

  return {
    saw(text) {
      const all = rest + text;
      let end = 0;
      for (const match of all.matchAll(SWITCHES)) {
        saw(match.groups ?? {}, match[0]);
        end = match.index + match[0].length;
      }
      const escape = all.lastIndexOf('\u001B');
      rest = escape >= end && all.length - escape <= SEQUENCE_CHARS_MAX ? all.slice(escape) : '';
    },
    restoring: () =>
      [
        PLAIN,
        hasMargins ? '\u001B7\u001B[r\u001B8' : '',
        isKeypadSwitched ? '\u001B>' : '',
        tellsKeys ? '\u001B[>4m' : '',
        '\u001B[<u'.repeat(pushed),
        ...[...switched].map(([mode, isOn]) =>
          isOn === ON_AT_FIRST.has(mode) ? '' : `\u001B[?${mode}${isOn ? 'l' : 'h'}`,
        ),
      ].join(''),
  };
}
