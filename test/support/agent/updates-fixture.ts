/** The updates of an agent on a directory of its own, with an updater that answers when the test says. */
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { AgentUpdateFrameBody } from '../../../agent/session/ports.ts';
import { Updates, type UpdatesOptions } from '../../../agent/update/updates.ts';
import { silentLog } from '../log.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { until } from '../until.ts';
import { UPDATER_TOKEN } from './updater-double.ts';

/** A request by its number. */
export function request(n: number): string {
  return `0190f5c2-7a11-7c3e-8f00-${String(n).padStart(12, '0')}`;
}

/** An updater that is asked, and answers when the test says. */
export class ScriptedSignal {
  readonly asked: string[] = [];
  readonly #answers: ((problem: string | null) => void)[] = [];

  readonly signal: UpdatesOptions['signalUpdate'] = (_place, asked, over) => {
    this.asked.push(asked);
    return new Promise((resolve, reject) => {
      this.#answers.push(resolve);
      over.addEventListener('abort', () => reject(new Error('aborted')));
    });
  };

  async answer(problem: string | null): Promise<void> {
    const answer = await until('a question', () => this.#answers.shift());
    answer(problem);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** The agent of a directory: of a new one, or of one that an agent before left. */
export function agentOf(t: ExecutionContext, more: Partial<UpdatesOptions> = {}, directory = temporaryDirectory(t)) {
  const said: AgentUpdateFrameBody[] = [];
  const updater = new ScriptedSignal();
  const paths = {
    updates: join(directory, 'updates.json'),
    updating: join(directory, 'updating.json'),
    pin: join(directory, 'update-pinned'),
  };
  const updates = new Updates({
    isEnabled: true,
    place: { url: 'http://127.0.0.1:1', token: UPDATER_TOKEN },
    paths,
    version: '0.1.0',
    say: (message) => {
      said.push(message);
      return true;
    },
    signalUpdate: updater.signal,
    wallMs: () => 1_000_000,
    log: silentLog,
    ...more,
  });
  t.teardown(() => updates.close());
  return { updates, said, updater, directory, paths };
}

/** The answer to that request of an agent whose updater took it. */
export function accepted(n: number): AgentUpdateFrameBody {
  return { type: 'update-answer', request: request(n), accepted: true, error: null };
}
