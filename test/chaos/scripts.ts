/** Commands of chaos: scripts that leave a trace in a ledger, and how they may end. */
import { readFileSync } from 'node:fs';
import { FLEET_KEYS, type Fleet } from '../support/fleet.ts';
import type { AdminProgram } from '../support/fleet/admin-program.ts';
import { restClient, type Rest } from '../support/fleet/rest.ts';
import type { Attempt } from './books.ts';

/** Output of a long script, in bytes: three parts. */
const FILLER_BYTES = 150_000;

/** Timeout of a timed script, in ms: long enough to kill its agent meanwhile. */
export const TIMEOUT_MS = 800;

/** How a command is asked for. */
export interface CreateOptions {
  readonly at?: AdminProgram | undefined;
  /** It expires so much later, in ms. Only then it may end as expired. */
  readonly expiresMs?: number;
  /** It is going to be cancelled, and may end so. */
  readonly isForCancel?: boolean;
}

/** A machine that went down under an execution. */
const INTERRUPTED = 'cancelled 137';

/**
 * Over at once, taking a moment, with an output of several parts, ended by whoever cancels it, waiting for a file, or
 * ended by its timeout.
 */
const SCRIPTS = {
  quick: { body: '', endings: ['completed 0', INTERRUPTED] },
  slow: { body: 'sleep 0.3', endings: ['completed 0', INTERRUPTED] },
  long: { body: `head -c ${FILLER_BYTES} /dev/zero | tr "\\0" o; echo`, endings: ['completed 0', INTERRUPTED] },
  endless: { body: '(trap "" TERM; sleep 1000) & sleep 1000', endings: ['cancelled 143', INTERRUPTED] },
  gated: { body: 'while [ ! -e "$GATE" ]; do sleep 0.05; done', endings: ['completed 0', INTERRUPTED] },
  timed: { body: 'sleep 1000', endings: ['completed 124', INTERRUPTED] },
} as const;

/** Name of a script. */
export type ScriptKind = keyof typeof SCRIPTS;

/** Asks for a command on every node, and writes it down; resolves when it was answered or the connection broke. */
export async function createCommand(
  { fleet, ledger }: { readonly fleet: Fleet; readonly ledger: string },
  attempts: Attempt[],
  kind: ScriptKind = 'quick',
  { at, expiresMs, isForCancel = false }: CreateOptions = {},
): Promise<Attempt> {
  const mark = `mark-${attempts.length}-${kind}`;
  const { body, endings } = SCRIPTS[kind];
  const atMs = Date.now();
  const attempt: Attempt = {
    mark,
    answer: 'none',
    id: null,
    answeredMs: performance.now(),
    isTakenBack: false,
    overAtS: expiresMs === undefined ? null : uptimeS() + expiresMs / 1_000,
    endings: [
      ...endings,
      ...(expiresMs === undefined ? [] : ['expired null']),
      ...(isForCancel ? ['cancelled null', 'cancelled 143'] : []),
    ],
    outputOf: (execution) => `${mark} ${execution}\n${kind === 'long' ? `${'o'.repeat(FILLER_BYTES)}\n` : ''}`,
    request: {
      body: {
        // The time since boot is no clock that somebody sets: what is true of a start does not hang on the agent's.
        command_text: `read -r up _ </proc/uptime; echo $EDGE_EXECUTION_ID $up >>${ledger}; echo ${mark} $EDGE_EXECUTION_ID; GATE=${gateOf(ledger, mark)}; ${body}`,
        targeting: { type: 'all' },
        ...(kind === 'timed' && { timeout: TIMEOUT_MS }),
        ...(expiresMs !== undefined && { expired_at: new Date(atMs + expiresMs).toISOString() }),
      },
      headers: { 'idempotency-key': mark },
    },
  };
  attempts.push(attempt);
  await ask(attempt, at === undefined ? fleet.rest : restClient(() => at.url, FLEET_KEYS.MASTER_KEY));
  return attempt;
}

/** The file beside the ledger for which a script waits. */
export function gateOf(ledger: string, mark: string): string {
  return `${ledger}-gate-${mark}`;
}

/** Seconds since this machine booted, of which no clock that is set knows. */
export function uptimeS(): number {
  return Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
}

/** What scripts wrote into the ledger when they ran, in order. */
export function starts(ledger: string): { readonly execution: string; readonly atS: number }[] {
  return readFileSync(ledger, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [execution = '', atS] = line.split(' ');
      return { execution, atS: Number(atS) };
    });
}

/** Asks for it, or again for the same: an answer that contradicts an earlier one leaves an id that is not stored. */
export async function ask(attempt: Attempt, rest: Rest): Promise<void> {
  try {
    const answer = await rest.call<{ id: string } | undefined>('POST', '/commands', attempt.request);
    attempt.answer = answer.status < 300 ? 'stored' : 'refused';
    attempt.isForNow = answer.status === 503;
    if (attempt.id !== null && attempt.id !== answer.data?.id)
      throw new Error(`C1: ${attempt.mark} was answered as ${attempt.id}, then as ${answer.text}`);
    attempt.id = answer.data?.id ?? null;
    attempt.answeredMs = performance.now();
  } catch (error) {
    if ((error as Error).message.startsWith('C1')) throw error;
    // else the admin was killed before it answered
    if (attempt.answer === 'refused') attempt.answer = 'none';
  }
}
