/**
 * The agent's log: one JSON object a line, or plain lines on a terminal. A few dozen lines of its own because pino
 * costs 7 MiB of memory on every device (measured).
 */
import { writeSync } from 'node:fs';
import { format } from 'node:util';
import { LOG_LEVELS, type Log, type LogLevel } from '../transport/net/log.ts';

/** Longest text of one field, in characters. */
const FIELD_CHARACTERS_MAX = 1_024;

/**
 * What moves a cursor, starts a line or hides what follows on a terminal: control characters, and those that turn the
 * direction of text. JSON escapes what matters to its readers itself.
 */
const CONTROLS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Writes lines of at least `level`. With `isTerminal` they read `12:00:00 warn  message  field=value`, else
 * `{"level","time","name","msg",…fields}`, `name` being that of the program. A write that fails (closed pipe, full
 * disk) is dropped: the agent goes on.
 */
export function createLog(
  level: LogLevel,
  isTerminal: boolean,
  write: (line: string) => void = writeStderr,
  name = 'edge-agent',
): Log {
  const least = LOG_LEVELS.indexOf(level);
  const at = (severity: Exclude<LogLevel, 'silent'>) => {
    const isWritten = LOG_LEVELS.indexOf(severity) >= least;
    return (fields: object, message: string) => {
      if (isWritten)
        write(isTerminal ? plainLine(severity, fields, message) : jsonLine(name, severity, fields, message));
    };
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/**
 * Where a fault of ours is, in one line, for a field beside `error`, of which the message alone is written. Without
 * that message, which would leave no place in the field where it is long.
 */
export function stackOf(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const at = stack.search(/^ {4}at /mu);
  return at === -1 ? '' : stack.slice(at).trim().replaceAll(/\n\s*/gu, ' | ');
}

/**
 * Tells of what nobody caught, which may be anything, before the program ends. Where the log is silent by its setting,
 * as Node does it: nobody would know why the program ended otherwise.
 */
export function createBugTeller(
  log: Log,
  level: LogLevel,
  write: (text: string) => void = writeStderr,
): (error: unknown, what: string) => void {
  return (error, what) => {
    const known = error instanceof Error ? error : format(error); // no text, no JSON: the log would throw
    if (level !== 'silent') return log.error({ error: known, stack: stackOf(error) }, what);
    const lines = (known instanceof Error ? (known.stack ?? known.message) : known).split('\n');
    return write(`${lines.map((line) => line.replaceAll(CONTROLS, '\ufffd')).join('\n')}\n`);
  };
}

function jsonLine(name: string, level: string, fields: object, message: string): string {
  const line: Record<string, unknown> = { level, time: new Date().toISOString(), name };
  for (const [field, value] of Object.entries(fields)) line[field] = short(value);
  line['msg'] = message;
  return `${JSON.stringify(line)}\n`;
}

function plainLine(level: string, fields: object, message: string): string {
  const time = new Date().toISOString().slice(11, 19);
  const rest = Object.entries(fields)
    .map(([name, value]) => `  ${name}=${String(short(value))}`)
    .join('');
  return `${`${time} ${level.padEnd(5)} ${message}${rest}`.replaceAll(CONTROLS, '\ufffd')}\n`;
}

function short(value: unknown): unknown {
  const text = value instanceof Error ? value.message : value;
  return typeof text === 'string' && text.length > FIELD_CHARACTERS_MAX
    ? `${text.slice(0, FIELD_CHARACTERS_MAX)}…`
    : text;
}

function writeStderr(line: string): void {
  try {
    writeSync(2, line);
  } catch {
    // Nobody reads any more, or the disk under the log is full: losing a line is better than losing the agent.
  }
}
