/**
 * A WebSocket that is over soon after it is closed here, and when it does not open in time, whatever the other side
 * says. The standard one waits for an answer: browsers for a minute, Node without an end. On a path that forgot the
 * connection none comes.
 */

/** How long the other side may take to open it, in ms. */
const OPEN_MS_MAX = 10_000;

/** How long it may take to agree that it is closed, in ms. */
const CLOSED_MS_MAX = 1_000;

type Kind = typeof WebSocket;

let made: Kind | undefined;

/**
 * The class: as the standard one; `close` comes once. Made when it is asked for: the name of the standard one alone
 * loads all of fetch in Node, a third of a short command of `edge`.
 */
export function promptWebSocket(): Kind {
  made ??= class PromptWebSocket extends WebSocket {
    #isOver = false;

    constructor(...words: ConstructorParameters<typeof WebSocket>) {
      super(...words);
      const late = setTimeout(() => this.close(), OPEN_MS_MAX); // before it is open, that is an error at once
      this.addEventListener('open', () => clearTimeout(late));
      this.addEventListener('close', (event) => {
        clearTimeout(late);
        if (this.#isOver) event.stopImmediatePropagation();
        this.#isOver = true;
      });
    }

    override close(code?: number, reason?: string): void {
      super.close(code, reason);
      const timer = setTimeout(() => {
        if (!this.#isOver) this.dispatchEvent(new CloseEvent('close', { code: ABNORMAL }));
      }, CLOSED_MS_MAX);
      this.addEventListener('close', () => clearTimeout(timer));
    }
  };
  return made;
}

/** Closed without an agreement. Source: RFC 6455, 7.4.1. */
const ABNORMAL = 1_006;
