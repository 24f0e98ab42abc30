/** The agent's service: restarted, and the end of its log. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { Readable } from 'node:stream';
import { UpdateProblem } from './problem.ts';
import type { UpdaterConfig } from './settings.ts';

/** A restart takes at most so long, in ms: an agent takes up to 24 s to end, and systemd waits 90 s before it kills. */
export const RESTART_MS_MAX = 120_000;

/** Asking for a log or a state takes at most so long, in ms. */
const ASK_MS_MAX = 5_000;

/**
 * What edge-agentctl's own supervisor says of a service that nothing starts again. Never a word of systemctl, such as
 * activating: systemd says that of one that it is about to start by itself.
 */
const ABANDONED = 'abandoned';

/** What is kept of a log, in bytes, and what is read to find it. */
export const LOG_TAIL_BYTES = 4_096;
const LOG_LINES = 200;

/** What is kept of what a command prints, in characters, and how long the last of it is waited for, in ms. */
const PRINTED_CHARS_MAX = 65_536;
const PRINTED_MS = 20;

/** The service. */
export interface AgentService {
  /** Restarts it. Rejects with an UpdateProblem when that fails. */
  restart(): Promise<void>;
  /** The last 4 KiB of its log; empty where it cannot be had. */
  logTail(): Promise<string>;
  /** Whether somebody stopped it on purpose, as far as can be told. */
  isStopped(): Promise<boolean>;
  /** Whether it is to run and what starts it again is gone, as far as UPDATER_STATE_COMMAND tells. */
  isAbandoned(): Promise<boolean>;
}

/** As the settings say. */
export function createAgentService(config: UpdaterConfig): AgentService {
  const { UPDATER_AGENT_SERVICE: service, UPDATER_RESTART_COMMAND: command, UPDATER_AGENT_LOG: log } = config;
  const words = command === undefined ? ['systemctl', 'restart', service] : shell(command);
  const { UPDATER_STATE_COMMAND: state } = config;
  const stateOf = async (words: readonly string[]) => (await run(words, ASK_MS_MAX)).text.trim();
  return {
    async restart() {
      const { code, text } = await run(words, RESTART_MS_MAX);
      if (code !== 0)
        throw new UpdateProblem(
          `the agent could not be restarted (${command ?? words.join(' ')}): ${text.trim().slice(-512) || `status ${code}`}`,
        );
    },
    async logTail() {
      if (log !== undefined) return fileTail(log);
      if (command !== undefined) return '';
      const { text } = await run(
        ['journalctl', '-u', service, '-n', `${LOG_LINES}`, '--no-pager', '-o', 'cat'],
        ASK_MS_MAX,
      );
      return Buffer.from(text).subarray(-LOG_TAIL_BYTES).toString('utf8').trim();
    },
    async isStopped() {
      if (state === undefined && command !== undefined) return false;
      const asked = state === undefined ? ['systemctl', 'is-active', service] : shell(state);
      return (await stateOf(asked)) === 'inactive';
    },
    async isAbandoned() {
      return state !== undefined && (await stateOf(shell(state))) === ABANDONED;
    },
  };
}

function shell(command: string): readonly string[] {
  return ['/bin/sh', '-c', command];
}

function fileTail(path: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      const tail = Buffer.alloc(Math.min(size, LOG_TAIL_BYTES));
      const bytes = readSync(file, tail, 0, tail.length, size - tail.length);
      return tail.toString('utf8', 0, bytes).trim();
    } finally {
      closeSync(file);
    }
  } catch {
    return ''; // no log is no reason to fail
  }
}

/** Ends with the command itself: what it left running may hold its output open. Never rejects. */
function run(
  [file = '', ...args]: readonly string[],
  msMax: number,
): Promise<{ readonly code: number; readonly text: string }> {
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    } catch (error) {
      return resolve({ code: 1, text: (error as Error).message }); // of some problems Node tells by an event, of others so
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), msMax); // one of Node's own goes on after an error
    let text = '';
    for (const stream of outputsOf(child))
      stream.setEncoding('utf8').on('data', (piece: string) => {
        text = (text + piece).slice(-PRINTED_CHARS_MAX);
      });
    child.on('error', (error) => {
      clearTimeout(timer);
      resolve({ code: 1, text: error.message });
    });
    child.on('exit', (code) => {
      clearTimeout(timer);
      setTimeout(() => {
        for (const stream of outputsOf(child)) stream.destroy();
        resolve({ code: code ?? 1, text: code === null ? `${text}\nit was ended after ${msMax / 1_000} s` : text });
      }, PRINTED_MS);
    });
  });
}

/** None where no file was free for them. */
function outputsOf({ stdout, stderr }: ChildProcess): Readable[] {
  return [stdout, stderr].filter((stream) => stream instanceof Readable);
}
