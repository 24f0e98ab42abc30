/** Logs for tests. */
import type { Log } from '../../transport/net/log.ts';

/** One call of a log. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: object;
  readonly message: string;
}

/** A log that drops everything. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** A log that keeps everything in `lines`, in order, and tells of the first line, old or new, whose message matches. */
export function recordingLog(): Log & { readonly lines: readonly LogLine[]; seen(message: RegExp): Promise<LogLine> } {
  const lines: LogLine[] = [];
  const waiting = new Set<(line: LogLine) => void>();
  const at = (level: LogLine['level']) => (fields: object, message: string) => {
    const line = { level, fields, message };
    lines.push(line);
    for (const tell of waiting) tell(line);
  };
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    seen: (message) =>
      new Promise((resolve) => {
        const tell = (line: LogLine) => {
          if (!message.test(line.message)) return;
          waiting.delete(tell);
          resolve(line);
        };
        waiting.add(tell);
        for (const line of lines) tell(line);
      }),
  };
}
