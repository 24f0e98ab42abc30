/** Logs for tests. */
import type { Log } from '../../transport/net/log.ts';
import { until } from './until.ts';

/** One call of a log. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: object;
  readonly message: string;
}

/** A log that drops everything. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * A log that keeps everything in `lines`, in order, and waits for the first line, old or new, whose message matches.
 */
export function recordingLog(): Log & { readonly lines: readonly LogLine[]; seen(message: RegExp): Promise<LogLine> } {
  const lines: LogLine[] = [];
  const at = (level: LogLine['level']) => (fields: object, message: string) =>
    void lines.push({ level, fields, message });
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    seen: (message) =>
      until(`a line of the log with ${message.source}`, () => lines.find((line) => message.test(line.message))),
  };
}
