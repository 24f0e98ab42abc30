/** The outputs of executions, line by line as they come. */
import type { Api } from './client.ts';

/** Executions followed live at a time over one connection; of more, the outputs are told when they are over. */
export const TAILS_MAX = 100;

/** Follows one output to its end; `line` gets whole lines, the last one also without its newline. Resolves at the end or when `signal` aborts. */
export function followOutput(api: Api, id: string, signal: AbortSignal, line: (text: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let rest = '';
    const end = (finish: () => void): void => {
      signal.removeEventListener('abort', aborted);
      subscription.unsubscribe();
      if (rest !== '') line(rest);
      rest = '';
      finish();
    };
    const aborted = (): void => end(resolve);
    const subscription = api.executions.tail.subscribe({ id }, {
      onData({ data }) {
        if (data.type === 'end') return end(resolve);
        if (data.type === 'output') {
          const lines = (rest + data.text).split('\n');
          rest = lines.pop() ?? '';
          for (const whole of lines) line(whole);
        }
        return undefined;
      },
      onError: (error) => end(() => reject(error)),
    });
    signal.addEventListener('abort', aborted, { once: true });
    if (signal.aborted) aborted();
  });
}
