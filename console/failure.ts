/** Calls that failed: what is said of them, and whether anything was done. */
import { refusalOf } from '../api/client/client.ts';
import { TEXTS } from './texts.ts';

/** There was no connection: nothing was sent, so that nothing was done. */
export class NotSent extends Error {
  constructor() {
    super(TEXTS.calls.notSent);
  }
}

/** Whether that is why a call failed. */
export function isNotSent(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof NotSent;
}

/** Whether something that failed so may have been done: its answer was lost, or the service does not know it either. */
export function isLeftOpen(error: unknown): boolean {
  const refusal = refusalOf(error);
  return refusal === null ? !isNotSent(error) : refusal.code === 'service_unavailable';
}

/** What is said of it: a line for each field that was refused, or a sentence. */
export function problemsOf(error: unknown): readonly string[] {
  const details = Object.entries(refusalOf(error)?.details ?? {});
  return details.length === 0
    ? [messageOf(error)]
    : details.map(([field, problems]) => `${field} ${problems.join(', ')}`);
}

/** The same in one line. */
export function problemOf(error: unknown): string {
  return problemsOf(error).join('; ');
}

/** Its sentence: that of the service, or ours where none came. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
