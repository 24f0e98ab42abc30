/** Worker processes of a case: asked by message, ended by pid. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** What a worker can be asked: name → handler. Arguments and answers must be clonable. */
export type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

interface Question {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}
interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly failure?: string;
}

/** A running worker. */
export interface Worker {
  readonly pid: number;
  /** Rejects when the worker ends, and where `msMax` is given, when there is no answer by then. */
  ask<T>(name: string, argument?: unknown, msMax?: number): Promise<T>;
  /** Stops it where it is, so that it uses no processor. */
  pause(): void;
  resume(): void;
  end(): Promise<void>;
}

/** Starts a module of this project as a process of its own; resolves when it answers. */
export async function startWorker(module: URL, nodeArguments: readonly string[] = []): Promise<Worker> {
  const child = fork(module, {
    execArgv: [...nodeArguments],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  child.on('message', (message) => settle(waiting, message as Reply));
  child.on('exit', (code, signal) => {
    for (const asked of waiting.values()) asked.reject(new Error(`${module.pathname} ended (${code ?? signal})`));
    waiting.clear();
  });
  let lastId = 0;
  const ask = async <T>(name: string, argument: unknown = null, msMax?: number): Promise<T> =>
    new Promise<unknown>((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      if (msMax !== undefined) {
        const late = new Error(`${module.pathname} did not answer ${name} within ${msMax} ms`);
        setTimeout(() => reject(late), msMax).unref();
      }
      child.send({ id: lastId, name, argument } satisfies Question, (error) => {
        if (error) reject(error);
      });
    }) as Promise<T>;
  await ask('hello');
  return {
    pid: child.pid ?? 0,
    ask,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    end: () => endChild(child),
  };
}

/** Answers questions in a worker until its parent lets go of it. */
export function serveQuestions(handlers: Handlers): void {
  const answer = async (question: Question): Promise<Reply> => {
    if (question.name === 'hello') return { id: question.id };
    const handler = handlers[question.name] as ((argument: unknown) => unknown) | undefined;
    if (handler === undefined) return { id: question.id, failure: `no handler ${question.name}` };
    try {
      return { id: question.id, value: await handler(question.argument) };
    } catch (error) {
      return { id: question.id, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  };
  process.on('message', (question: Question) => {
    void answer(question).then((reply) => process.send?.(reply));
  });
  process.on('disconnect', () => process.exit());
}

function settle(
  waiting: Map<number, { resolve(value: unknown): void; reject(error: Error): void }>,
  reply: Reply,
): void {
  const asked = waiting.get(reply.id);
  waiting.delete(reply.id);
  if (reply.failure === undefined) asked?.resolve(reply.value);
  else asked?.reject(new Error(reply.failure));
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGCONT');
  child.kill('SIGKILL');
  await once(child, 'exit');
}
