/**
 * xterm.js under the policy of the console, which forbids style elements and style attributes: what it writes into
 * style elements goes into constructed stylesheets, and what it writes into style attributes through CSSOM.
 */
import { FitAddon } from '@xterm/addon-fit';
import { Terminal, type ITerminalInitOnlyOptions, type ITerminalOptions } from '@xterm/xterm';

/** Lines that can be scrolled back to. */
const SCROLLBACK_LINES = 5_000;

/** Colours of both themes: programs choose theirs for a dark ground. */
const COLOURS: NonNullable<ITerminalOptions['theme']> = {
  background: '#12161c',
  foreground: '#e4e8ee',
  cursor: '#e4e8ee',
  selectionBackground: '#3a5a8c',
};

/** A terminal, and what fits it into its element. */
export interface Screen {
  readonly terminal: Terminal;
  readonly fit: FitAddon;
  close(): void;
}

/** Draws one in an element of the page. */
export function openScreen(parent: HTMLElement, options: ITerminalOptions & ITerminalInitOnlyOptions = {}): Screen {
  const terminal = new Terminal({
    scrollback: SCROLLBACK_LINES,
    theme: COLOURS,
    fontFamily: 'ui-monospace, monospace',
    fontSize: 14,
    minimumContrastRatio: 4.5,
    // what a program calls a link leads nowhere: its text and its target may differ
    linkHandler: { activate: () => {} },
    ...options,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  makePlainly(1);
  terminal.open(parent);
  return {
    terminal,
    fit,
    close() {
      terminal.dispose();
      makePlainly(-1);
    },
  };
}

/** How many are open. */
let screens = 0;

/**
 * While there are any, the document makes elements that the policy allows. `documentOverride` of xterm.js 6.0.0 does
 * not do: its viewport and its rows ask the window for the document, whatever they were given.
 */
function makePlainly(more: 1 | -1): void {
  screens += more;
  if (screens > 0) document.createElement = createPlainly;
  else Reflect.deleteProperty(document, 'createElement');
}

/** An element; one of styles is a hidden one beside a constructed stylesheet. */
function createPlainly(name: string): HTMLElement {
  const create = Document.prototype.createElement.bind(document);
  if (name === 'style') return styleHolder(create('span'));
  const element = create(name);
  if (name === 'span') element.setAttribute = setAttributePlainly;
  return element;
}

function setAttributePlainly(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

function styleHolder(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  element.hidden = true;
  Object.defineProperty(element, 'textContent', {
    set: (css: string) => {
      sheet.replaceSync(css);
    },
  });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}
