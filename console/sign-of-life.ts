/** Asks the admin for a sign of life when somebody comes to the page or does something there, and it has been silent. */

/** Silence after which it is asked, in ms; and how long it may take to answer. */
export interface SignOfLifeTimes {
  readonly silenceMs: number;
  readonly answerMs: number;
}

/** What somebody does who looks at a page, and what the browser says of its network. */
const SOMEBODY = ['keydown', 'pointerdown', 'focus', 'visibilitychange', 'online'] as const;

/**
 * Until the connection is closed. One that does not answer in time is closed, and whoever opened it opens another. A page
 * at which nobody does anything is asked after by `keepAlive` alone, which is slower: most open pages are such, and what
 * 1,000 of them cost an idle admin was these signs for the most part.
 */
export function askForSignsOfLife(socket: WebSocket, page: EventTarget, times: SignOfLifeTimes): void {
  const over = new AbortController();
  let heardAtMs = performance.now();
  /** Null: it is not asked. */
  let late: ReturnType<typeof setTimeout> | null = null;

  function hear(): void {
    heardAtMs = performance.now();
    if (late !== null) clearTimeout(late);
    late = null;
  }
  function ask(): void {
    if (socket.readyState !== WebSocket.OPEN || late !== null) return;
    if (performance.now() - heardAtMs < times.silenceMs) return;
    socket.send('PING'); // as of tRPC's own
    late = setTimeout(() => socket.close(), times.answerMs);
  }

  const { signal } = over;
  for (const event of SOMEBODY) page.addEventListener(event, ask, { passive: true, signal });
  socket.addEventListener('message', hear);
  socket.addEventListener('close', () => {
    hear();
    over.abort();
  });
}
