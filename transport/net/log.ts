/**
 * The one form of a log call, at admin, agent and relay: `log.warn({ node, error }, 'the node could not be read')`.
 * Fields first, as pino has it, which most of our calls and those of our libraries had before: no adapter is needed
 * between them. Who writes the lines: `pino-log.ts` for what runs on servers, `agent/log.ts` on devices.
 */

/** What a log may be limited to, least severe first; `silent` writes nothing. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** One of them. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Structured lines. `fields` may hold anything but secrets; their names are those of the table in docs/tracing.md,
 * which a test compares. `{}` where there is nothing to add. `message` is constant, so that lines can be counted by it,
 * and says what happened; what it happened to is in the fields.
 */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
