/** The outputs of executions, line by line as they come. */
import type { Api } from '../client.ts';
import { subscribePatiently } from '../../api/client/client.ts';

/** Executions followed live at a time over one connection; of more, the outputs are told when they are over. */
export const TAILS_MAX = 100;

type TailMessage =
  | { readonly type: 'snapshot'; readonly offset: number }
  | { readonly type: 'output'; readonly offset: number; readonly text: string }
  | { readonly type: 'end' };

/**
 * Follows one output to its end; `line` gets whole lines, the last one also without its newline. Resolves at the end or
 * when `signal` aborts.
 */
export function followOutput(api: Api, id: string, signal: AbortSignal, line: (text: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let rest = '';
    let offset = 0;
    const end = (finish: () => void): void => {
      signal.removeEventListener('abort', aborted);
      subscription.unsubscribe();
      if (rest !== '') line(rest);
      rest = '';
      finish();
    };
    const aborted = (): void => end(resolve);
    const subscription = subscribePatiently<TailMessage>(
      (handlers) => api.executions.tail.subscribe({ id, lastEventId: String(offset) }, handlers),
      {
        data(data) {
          if (data.type === 'end') return end(resolve);
          if (data.type === 'output') {
            offset = data.offset + Buffer.byteLength(data.text);
            const lines = (rest + data.text).split('\n');
            rest = lines.pop() ?? '';
            for (const whole of lines) line(whole);
          }
          return undefined;
        },
        failed: (error) => end(() => reject(error)),
      },
    );
    signal.addEventListener('abort', aborted, { once: true });
    if (signal.aborted) aborted();
  });
}
