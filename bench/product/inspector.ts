/**
 * Node's inspector of a running admin, opened by SIGUSR1 when it is first wanted: garbage collection and CPU profiles
 * on demand, nothing before.
 */
import { writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';

/** Timeout of the opening of the inspector, in ms. */
const OPEN_MS_MAX = 5_000;

/** Between two samples of a profile, in microseconds. */
const SAMPLING_US = 250;

export interface Inspector {
  /** Collects all garbage now. */
  collectGarbage(): Promise<void>;
  /**
   * Bytes of living objects on the heap and outside of it (buffers). Right after a collection these are those that are
   * held.
   */
  heldBytes(): Promise<number>;
  /** Profiles the process while `work` runs and writes a `.cpuprofile`, which browsers' developer tools open. */
  profile<T>(file: string, work: () => Promise<T>): Promise<T>;
  close(): void;
}

/** Opens the inspector of a process that was started with `--inspect-port`. */
export async function openInspector(pid: number, port: number): Promise<Inspector> {
  process.kill(pid, 'SIGUSR1');
  const socket = new WebSocket(await debuggerUrl(port), { perMessageDeflate: false, maxPayload: 1_073_741_824 });
  await once(socket, 'open');
  const waiting = new Map<number, (result: unknown) => void>();
  socket.on('message', (data: Buffer) => {
    const answer = JSON.parse(data.toString()) as { id?: number; result?: unknown };
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer.result);
  });
  let lastId = 0;
  const ask = <T>(method: string, params: object = {}): Promise<T> =>
    new Promise<unknown>((resolve) => {
      lastId += 1;
      waiting.set(lastId, resolve);
      socket.send(JSON.stringify({ id: lastId, method, params }));
    }) as Promise<T>;
  return {
    collectGarbage: async () => {
      await ask('HeapProfiler.collectGarbage');
      await ask('HeapProfiler.collectGarbage'); // finalisers of the first round free the rest
    },
    heldBytes: async () => {
      const {
        usedSize,
        embedderHeapUsedSize = 0,
        backingStorageSize = 0,
      } = await ask<{ usedSize: number; embedderHeapUsedSize?: number; backingStorageSize?: number }>(
        'Runtime.getHeapUsage',
      );
      return usedSize + embedderHeapUsedSize + backingStorageSize;
    },
    profile: async (file, work) => {
      await ask('Profiler.enable');
      await ask('Profiler.setSamplingInterval', { interval: SAMPLING_US });
      await ask('Profiler.start');
      const result = await work();
      const { profile } = await ask<{ profile: unknown }>('Profiler.stop');
      await writeFile(file, JSON.stringify(profile));
      return result;
    },
    close: () => socket.close(),
  };
}

async function debuggerUrl(port: number): Promise<string> {
  for (const until = Date.now() + OPEN_MS_MAX; Date.now() < until;) {
    const targets = await fetch(`http://127.0.0.1:${port}/json/list`).then(
      (answer) => answer.json() as Promise<{ webSocketDebuggerUrl: string }[]>,
      () => [],
    );
    const url = targets[0]?.webSocketDebuggerUrl;
    if (url !== undefined) return url;
    await delay(20);
  }
  throw new Error(`no inspector on port ${port} within ${OPEN_MS_MAX} ms`);
}

/** Profiles several processes while `work` runs. */
export async function profiledTogether(
  targets: readonly { readonly program: { inspect(): Promise<Inspector> }; readonly file: string }[],
  work: () => Promise<unknown>,
): Promise<void> {
  const [target, ...others] = targets;
  if (target === undefined) return void (await work());
  const inspector = await target.program.inspect();
  await inspector.profile(target.file, () => profiledTogether(others, work));
  inspector.close();
}
