/** Servers that a test ends and starts again. */
import type { Program } from './fleet/program.ts';
import { until } from './until.ts';

/** A server on ports and data of its own, which ends with the scope of its program. */
export interface Restartable {
  /** The running process, or the last one. */
  process(): Program;
  /** Starts it again on the same ports and data. */
  start(): Promise<void>;
  /** At once, as `kill -9`. */
  kill(): Promise<void>;
  /** Orderly, so that what it has confirmed is on disk. */
  stop(): Promise<void>;
}

/**
 * Starts one by `run`; it is there when `isUp` says so. Rejects with what it said when it ends before, or is not there
 * after so many ms.
 */
export async function startServer(
  what: string,
  run: () => Program,
  isUp: (program: Program) => boolean | Promise<boolean>,
  msMax?: number,
): Promise<Restartable> {
  let current: Program;
  const start = async (): Promise<void> => {
    const program = run();
    current = program;
    await until(what, () => program.exit !== null || isUp(program), msMax);
    if (program.exit !== null) throw new Error(program.output);
  };
  const ended = async (): Promise<void> => {
    await current.ended();
  };
  await start();
  return {
    process: () => current,
    start,
    kill() {
      current.kill();
      return ended();
    },
    stop() {
      current.terminate();
      return ended();
    },
  };
}
