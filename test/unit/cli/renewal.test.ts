import { once } from 'node:events';
import test from 'ava';
import { startRenewed, type Renewable } from '../../../cli/renewal.ts';
import { recordingLog } from '../../support/log.ts';

const NEVER = new Promise<never>(() => {});

test('an admin whose database was set back is stopped and started anew, and the last one is stopped in order', async (t) => {
  const told: string[] = [];
  const lives: PromiseWithResolvers<void>[] = [];
  const started = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const start = (): Promise<Renewable> => {
    const life = lives.push(Promise.withResolvers<void>());
    told.push(`start ${life}`);
    started[life - 1]?.resolve();
    return Promise.resolve({
      setBack: lives[life - 1]!.promise,
      takenOver: NEVER,
      stop: () => {
        told.push(`stop ${life}`);
        return Promise.resolve();
      },
    });
  };
  const signal = new AbortController();
  const running = await startRenewed(start, { describe: String, log: recordingLog(), signal: signal.signal });

  lives[0]!.resolve();
  await started[1]!.promise;
  signal.abort();
  await running.stop();
  lives[1]!.resolve();
  await Promise.resolve();

  t.deepEqual(told, ['start 1', 'stop 1', 'start 2', 'stop 2']);
});

test('an admin that is stopped while it starts anew is stopped in order: what is waited for is given up', async (t) => {
  const { promise: setBack, resolve } = Promise.withResolvers<void>();
  const again = Promise.withResolvers<void>();
  const signal = new AbortController();
  let starts = 0;
  const start = async (given: AbortSignal): Promise<Renewable> => {
    starts += 1;
    if (starts === 1) return { setBack, takenOver: NEVER, stop: () => Promise.resolve() };
    again.resolve();
    await once(given, 'abort');
    throw given.reason as Error;
  };
  const running = await startRenewed(start, { describe: String, log: recordingLog(), signal: signal.signal });

  resolve();
  await again.promise;
  signal.abort();

  await t.notThrowsAsync(running.stop());
  t.is(starts, 2);
});
