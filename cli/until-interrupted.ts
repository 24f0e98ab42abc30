/** When a command that goes on by itself is to end. */

/** Ctrl-C, `kill`, and a terminal that is closed. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The request to end. */
export interface Ending {
  /** Aborts when there is one. */
  readonly signal: AbortSignal;
  /** Resolves then. */
  readonly asked: Promise<void>;
}

/** Looks for it from now on. A second signal of a kind is left to Node, which ends the process. */
export function ending(): Ending {
  return endingBy(() => {});
}

/** The same, also when whoever read stdout has gone: something is to be undone then, before the process ends. */
export function endingWithReader(): Ending {
  return endingBy((end) => {
    process.stdout.removeAllListeners('error'); // that of the program, which ends it at once
    process.stdout.on('error', end);
  });
}

function endingBy(more: (end: () => void) => void): Ending {
  const controller = new AbortController();
  const { signal } = controller;
  const asked = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const end = (): void => controller.abort();
  for (const one of SIGNALS) process.once(one, end);
  more(end);
  return { signal, asked };
}
