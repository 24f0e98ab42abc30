/**
 * Agents without machines: the real agent's session, a journal in memory, and scripts that take the time that their
 * text says. They run what they are told to, each time, so that what is delivered twice is seen.
 */
import { appendFileSync } from 'node:fs';
import { MemoryJournal, REGISTRATION, systemClock } from '../../../bench/product/simulated-agent.ts';
import { webSocketDial } from '../../../agent/session/dial.ts';
import type { Dial, Finished, OutputCursor, SessionRunner } from '../../../agent/session/ports.ts';
import { Session } from '../../../agent/session/session.ts';
import { NodeId, type ExecutionId } from '../../../transport/protocol/ids.ts';
import { uptimeS } from '../scripts.ts';
import type { Recorder } from './recorder.ts';

/** Where agents may dial. */
export interface DialledAdmin {
  readonly name: string;
  readonly dialledUrl: string;
}

const ENDED: Finished = { outcome: 'completed', exitCode: 0, outputTruncated: false, outputBytes: 0 };

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** All of them. */
export class SimulatedNodes {
  readonly #admins: readonly DialledAdmin[];
  readonly #recorder: Recorder;
  /** A line for each script that starts, as real ones write it. */
  readonly #ledger: string;
  readonly #sessions = new Map<string, Session>();
  /** What any machine of a node ran. */
  readonly #ran = new Map<string, Set<string>>();

  constructor(admins: readonly DialledAdmin[], recorder: Recorder, ledger: string) {
    this.#admins = admins;
    this.#recorder = recorder;
    this.#ledger = ledger;
  }

  /**
   * Connects the agent of a node; one of before says goodbye, and what it held is lost with its machine. `place`: with
   * which admin it begins.
   */
  start(node: string, token: string, place: number): void {
    this.#sessions.get(node)?.stop();
    const journal = new MemoryJournal({ ran() {}, confirmed() {}, live() {} });
    const scripts = new Scripts(journal, this.#notesOf(node), (executions) => session.finished(executions));
    const urls = this.#admins.map((_, index) => this.#admins[(index + place) % this.#admins.length]?.dialledUrl ?? '');
    const spans = this.#spansOf(node);
    const session = new Session(
      {
        node: NodeId.parse(node),
        token,
        registration: REGISTRATION,
        adminUrls: () => urls,
        listedCount: () => urls.length,
        onLive: spans.live,
      },
      {
        journal,
        runner: scripts,
        report: () => ({ services: [{ name: 'runner', healthy: true, detail: null }] }),
        dial: spans.dial,
        clock: systemClock,
        random: Math.random,
        log: quiet,
      },
    );
    this.#sessions.set(node, session);
    session.start();
  }

  /** How many of these nodes have a live session. */
  live(nodes: readonly string[]): number {
    return nodes.filter((node) => this.#sessions.get(node)?.isLive).length;
  }

  /** All say goodbye. */
  stop(): void {
    for (const session of this.#sessions.values()) session.stop();
  }

  /**
   * Writes down what a machine starts, and how it ends. What another machine of the node started is not held against
   * it: an execution starts at most once on any machine (C3), and this one cannot know of it.
   */
  #notesOf(node: string): Notes {
    const all = this.#ran.get(node) ?? new Set();
    this.#ran.set(node, all);
    const own = new Set<string>();
    const { runs } = this.#recorder;
    return {
      started: (execution) => {
        if (own.has(execution) || !all.has(execution)) appendFileSync(this.#ledger, `${execution} ${uptimeS()}\n`);
        own.add(execution);
        all.add(execution);
        runs.push({ execution, startedMs: this.#recorder.nowMs(), endedMs: null, end: null });
      },
      ended: (execution, end) => {
        const run = runs.findLast((one) => one.execution === execution && one.end === null);
        if (run !== undefined) Object.assign(run, { endedMs: this.#recorder.nowMs(), end });
      },
    };
  }

  /** Notes from when to when the node had a session. */
  #spansOf(node: string): { readonly dial: Dial; readonly live: (adminUrl: string) => void } {
    const dial = webSocketDial();
    let span: Recorder['sessions'][number] | null = null;
    const ended = (): void => {
      if (span !== null) span.endedMs = this.#recorder.nowMs();
      span = null;
    };
    return {
      dial: (url, token, owner) =>
        dial(url, token, {
          opened: (link) => owner.opened(link),
          message: (link, text) => owner.message(link, text),
          closed: (link, code, reason) => {
            ended();
            owner.closed(link, code, reason);
          },
        }),
      live: (adminUrl) => {
        if (span !== null) return; // a second welcome on the same connection, as after a move
        const admin = this.#admins.find(({ dialledUrl }) => dialledUrl === adminUrl)?.name ?? adminUrl;
        span = { node, admin, liveMs: this.#recorder.nowMs(), endedMs: null };
        this.#recorder.sessions.push(span);
      },
    };
  }
}

/** Writes down what one machine does. */
interface Notes {
  started(execution: string): void;
  ended(execution: string, end: 'completed' | 'stopped'): void;
}

/** What one node runs. */
class Scripts implements SessionRunner {
  readonly #journal: MemoryJournal;
  readonly #notes: Notes;
  readonly #finished: (executions: readonly ExecutionId[]) => void;
  readonly #texts = new Map<ExecutionId, string>();
  readonly #running = new Map<ExecutionId, ReturnType<typeof setTimeout>>();
  /** Who waits for the end of an output. */
  readonly #tails = new Map<ExecutionId, Set<() => void>>();

  constructor(journal: MemoryJournal, notes: Notes, finished: (executions: readonly ExecutionId[]) => void) {
    this.#journal = journal;
    this.#notes = notes;
    this.#finished = finished;
  }

  receive(deliveries: Parameters<SessionRunner['receive']>[0]): ReturnType<SessionRunner['receive']> {
    const received = this.#journal.receive(deliveries);
    for (const { execution, command_text: text } of deliveries) this.#texts.set(execution, text);
    return received;
  }

  run(executions: readonly ExecutionId[]): void {
    for (const execution of executions) {
      this.#notes.started(execution);
      const { mark, sleepMs } = scriptIn(this.#texts.get(execution) ?? '');
      const end = (): void => this.#end(execution, ENDED, `${mark} ${execution}\n`);
      if (sleepMs === 0) end();
      else this.#running.set(execution, setTimeout(end, sleepMs));
    }
  }

  cancel(executions: readonly ExecutionId[]): void {
    for (const execution of executions) {
      const { mark } = scriptIn(this.#texts.get(execution) ?? '');
      if (this.#ended(execution))
        this.#end(execution, { ...ENDED, outcome: 'cancelled', exitCode: 143 }, `${mark} ${execution}\n`);
    }
  }

  settle(executions: readonly ExecutionId[]): void {
    for (const execution of executions) {
      if (this.#ended(execution)) this.#notes.ended(execution, 'stopped');
      this.#texts.delete(execution);
    }
    this.#journal.forget(executions);
  }

  /** Its output is there from its start. */
  tail(execution: ExecutionId, from: number, wake: () => void): OutputCursor | null {
    const { mark } = scriptIn(this.#texts.get(execution) ?? '');
    if (mark === '') return null;
    const output = `${mark} ${execution}\n`;
    const running = this.#running;
    let offset = from;
    const waiting = this.#tails.get(execution) ?? new Set();
    this.#tails.set(execution, waiting.add(wake));
    return {
      read: () => {
        if (offset >= output.length) return null;
        const piece = { offset, text: output.slice(offset) };
        offset = output.length;
        return piece;
      },
      get ended() {
        return !running.has(execution);
      },
      get offset() {
        return offset;
      },
      close: () => void waiting.delete(wake),
    };
  }

  #end(execution: ExecutionId, how: Finished, output: string): void {
    this.#running.delete(execution);
    this.#notes.ended(execution, how.outcome === 'completed' ? 'completed' : 'stopped');
    this.#journal.finish(execution, { ...how, outputBytes: Buffer.byteLength(output) }, output);
    this.#finished([execution]);
    const waiting = this.#tails.get(execution) ?? [];
    this.#tails.delete(execution);
    for (const wake of waiting) wake();
  }

  /** Whether it ran until now. */
  #ended(execution: ExecutionId): boolean {
    clearTimeout(this.#running.get(execution));
    return this.#running.delete(execution);
  }
}

/** A script as its text says it: `echo MARK ; sleep SECONDS`. */
export function scriptText(mark: string, sleepMs: number): string {
  return `echo ${mark} $EDGE_EXECUTION_ID; sleep ${sleepMs / 1_000}`;
}

function scriptIn(text: string): { readonly mark: string; readonly sleepMs: number } {
  const { mark = '', seconds = '0' } = /^echo (?<mark>\S+) .*sleep (?<seconds>[\d.]+)$/u.exec(text)?.groups ?? {};
  return { mark, sleepMs: Number(seconds) * 1_000 };
}
