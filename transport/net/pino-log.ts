/** The log of programs on servers: JSON lines on stderr, with secrets blanked. */
import { pino, type DestinationStream } from 'pino';
import type { Log, LogLevel } from './log.ts';

/** Fields that may hold a secret, in lower case with `-` as `_`. Blanked wherever they stand. */
const SECRET_NAMES = new Set([
  'authorization',
  'proxy_authorization',
  'cookie',
  'set_cookie',
  'headers',
  'password',
  'proxy_password',
  'passphrase',
  'secret',
  'token',
  'api_token',
  'key',
  'enrollment_key',
  'recovery_key',
  'private_key',
  'encryption_key',
  'master_key',
  'api_key',
  'metrics_key',
  'proxy_key',
  'mcp_key',
  'database_url',
  'nonce',
  'command_text',
  'output',
  'body',
  'env',
]);

/**
 * Bounds of what one line takes from its fields: objects deep, entries of one object or array, characters of one text.
 */
const DEPTH_MAX = 6;
const ENTRIES_MAX = 100;
const CHARACTERS_MAX = 4_096;

/** Lines that a full disk or a terminal that is gone did not take are kept up to this, in bytes: more is lost. */
const KEPT_BYTES_MAX = 1_048_576;

/** Standard error. That it takes nothing has no place to be told, and ends nothing: pino would throw at who logs. */
function standardError(): DestinationStream {
  const stderr = pino.destination({ dest: 2, sync: true, maxLength: KEPT_BYTES_MAX });
  stderr.on('error', () => {});
  return stderr;
}

/**
 * A log that writes one JSON object a line: `level`, `time` (ISO 8601), `name`, the fields, `msg`. Secrets among the
 * fields are blanked by name, and credentials in URLs; a message must hold none. `destination` is stderr unless given.
 */
export function createLog(name: string, level: LogLevel, destination: DestinationStream = standardError()): Log {
  return pino(
    {
      level,
      base: { name },
      timestamp: pino.stdTimeFunctions.isoTime,
      // Not pino's `redact`: its wildcard paths, one per name and depth, cost 80 µs a line (measured); this walk costs
      // 4.
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => clean(fields, 0) as Record<string, unknown>,
      },
    },
    destination,
  );
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (depth >= DEPTH_MAX) return '[deeper]';
  if (value instanceof Error) return cleanError(value, depth);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map((entry) => clean(entry, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, ENTRIES_MAX)
      .map(([name, entry]) => [
        name,
        isSecret(name) && entry !== null && entry !== undefined ? '[redacted]' : clean(entry, depth + 1),
      ]),
  );
}

/**
 * Type, message, code, stack and cause; not what a library hung on it (the database adds the row that offended). None
 * of them is surely a text: a library may take them from what a server answered.
 */
function cleanError(error: Error, depth: number): unknown {
  const { code } = error as { code?: unknown };
  const stack = stackOf(error);
  return {
    type: clean(error.name, depth + 1),
    message: clean(error.message, depth + 1),
    ...(code !== undefined && { code: clean(code, depth + 1) }),
    ...(stack !== undefined && { stack: clean(stack, depth + 1) }),
    ...(error.cause !== undefined && { cause: clean(error.cause, depth + 1) }),
  };
}

/** The stack is made when it is first read, of the name and the message: where these are no texts, that throws. */
function stackOf(error: Error): unknown {
  try {
    return error.stack;
  } catch (thrown) {
    return `[no stack: ${String(thrown)}]`;
  }
}

function cleanText(text: string): string {
  const cut = text.length > CHARACTERS_MAX ? `${text.slice(0, CHARACTERS_MAX)}…` : text;
  return cut.includes('@') ? cut.replaceAll(/\/\/[^/\s]*@/gu, '//***@') : cut;
}

function isSecret(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase().replaceAll('-', '_'));
}
