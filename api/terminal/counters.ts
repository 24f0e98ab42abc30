/** What happened in terminals since the start of this admin. */
import type { OverReason } from './messages.ts';

/** Counts, as metrics read them. */
export interface TerminalReadings {
  readonly open: number;
  readonly opened: number;
  readonly ended: Readonly<Record<OverReason, number>>;
  readonly bytes: { readonly up: number; readonly down: number };
}

/** Counted by each terminal. */
export class TerminalCounters {
  readonly #ended: Record<OverReason, number> = {
    exited: 0,
    refused: 0,
    cut: 0,
    idle: 0,
    old: 0,
    session_over: 0,
    stopping: 0,
    misused: 0,
  };
  opened = 0;
  readonly bytes = { up: 0, down: 0 };

  ended(reason: OverReason): void {
    this.#ended[reason] += 1;
  }

  /** `open`: connections, whether somebody is logged in by them or not yet. */
  readings(open: number): TerminalReadings {
    return { open, opened: this.opened, ended: { ...this.#ended }, bytes: { ...this.bytes } };
  }
}
