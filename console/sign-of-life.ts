/**
 * Asks the admin for a sign of life when somebody comes to the page or does something there, and it has been silent.
 */

/** How the admin is asked, and when. */
export interface SignOfLife {
  readonly question: string;
  /** Silence after which it is asked when somebody does something, in ms; and how long it may take to answer. */
  readonly silenceMs: number;
  readonly answerMs: number;
  /**
   * Silence after which it is asked though nobody does anything, in ms. Null: whoever opened the connection sees to
   * that.
   */
  readonly quietMs: number | null;
}

/** What somebody does who looks at a page, and what the browser says of its network. */
const SOMEBODY = ['keydown', 'pointerdown', 'focus', 'visibilitychange', 'online'] as const;

/**
 * Until the connection is closed. One that does not answer in time is closed, and whoever opened it opens another. A
 * page at which nobody does anything asks more slowly: most open pages are such, and what 1,000 of them cost an idle
 * admin was these signs for the most part.
 */
export function askForSignsOfLife(socket: WebSocket, page: EventTarget, asked: SignOfLife): void {
  const { question, silenceMs, answerMs, quietMs } = asked;
  const over = new AbortController();
  let heardAtMs = performance.now();
  /** Null: it is not asked. */
  let late: ReturnType<typeof setTimeout> | null = null;

  function hear(): void {
    heardAtMs = performance.now();
    if (late !== null) clearTimeout(late);
    late = null;
  }
  function askAfter(ms: number): void {
    if (socket.readyState !== WebSocket.OPEN || late !== null) return;
    if (performance.now() - heardAtMs < ms) return;
    socket.send(question);
    late = setTimeout(() => socket.close(), answerMs);
  }

  const { signal } = over;
  // a terminal keeps its keys to itself
  const options = { passive: true, capture: true, signal };
  for (const event of SOMEBODY) page.addEventListener(event, () => askAfter(silenceMs), options);
  const looking = quietMs === null ? undefined : setInterval(() => askAfter(quietMs), silenceMs);
  socket.addEventListener('message', hear);
  socket.addEventListener('close', () => {
    hear();
    clearInterval(looking);
    over.abort();
  });
}
