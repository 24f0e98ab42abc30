/**
 * One line on stderr that says how far a run is, rewritten in place. Only for people: nothing when stderr is no
 * terminal.
 */
import type { Command } from '../service/client.ts';

type Summary = Command['summary'];

/** Between two rewrites, in ms: what a person can follow. */
const REWRITE_MS = 100;

/** The line. */
export interface Progress<T = Summary> {
  show(summary: T): void;
  /** Takes the line away, so that other text can be written. It comes back with the next `show`. */
  clear(): void;
}

/** Where it is written. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** The progress line of a run on a stream. */
export function createProgress(stream: ProgressStream, nowMs: () => number): Progress {
  const isLast = (summary: Summary): boolean => finishedOf(summary) === summary.total;
  return createProgressLine(stream, nowMs, { text: progressText, isLast });
}

/** What it says, and when nothing more comes. */
interface ProgressWords<T> {
  readonly text: (progress: T, elapsedMs: number) => string;
  readonly isLast: (progress: T) => boolean;
}

/** A progress line of anything on a stream. */
export function createProgressLine<T>(
  stream: ProgressStream,
  nowMs: () => number,
  { text, isLast }: ProgressWords<T>,
): Progress<T> {
  if (stream.isTTY !== true) return { show() {}, clear() {} };
  const startedMs = nowMs();
  let shown = false;
  let shownMs = 0;
  return {
    show(summary) {
      if (shown && !isLast(summary) && nowMs() - shownMs < REWRITE_MS) return;
      shown = true;
      shownMs = nowMs();
      stream.write(`\r\u001b[2K${text(summary, nowMs() - startedMs)}`);
    },
    clear() {
      if (shown) stream.write('\r\u001b[2K');
      shown = false;
    },
  };
}

/** `12/40 done, 2 failed, 20 running, 6 waiting, 3 s`. */
export function progressText(summary: Summary, elapsedMs: number): string {
  const unfinished = summary.cancelled + summary.expired + summary.dropped;
  return [
    `${finishedOf(summary)}/${summary.total} done`,
    summary.failed > 0 && `${summary.failed} failed`,
    unfinished > 0 && `${unfinished} not finished`,
    summary.sent > 0 && `${summary.sent} running`,
    summary.pending > 0 && `${summary.pending} waiting`,
    `${Math.round(elapsedMs / 1_000)} s`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Executions that are over. */
export function finishedOf(summary: Summary): number {
  return summary.total - summary.pending - summary.sent;
}

/** `4 of 4 succeeded, 0.4 s`, with what did not where there is any, and of how many nobody knows how they ended. */
export function endText(summary: Summary, elapsedMs: number): string {
  const seconds = elapsedMs / 1_000;
  const known = summary.completed + summary.cancelled + summary.expired + summary.dropped;
  const unknown = finishedOf(summary) - known;
  return [
    `${summary.succeeded} of ${summary.total} succeeded`,
    summary.failed > 0 && `${summary.failed} failed`,
    summary.cancelled > 0 && `${summary.cancelled} cancelled`,
    summary.expired > 0 && `${summary.expired} not reached in time`,
    summary.dropped > 0 && `${summary.dropped} deleted meanwhile`,
    summary.sent > 0 && `${summary.sent} lost while running`,
    summary.pending > 0 && `${summary.pending} away`,
    unknown > 0 && `${unknown} no longer known`,
    `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`,
  ]
    .filter(Boolean)
    .join(', ');
}
