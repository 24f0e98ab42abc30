import test from 'ava';
import { startRenewed, type Renewable } from '../../../cli/renewal.ts';
import { recordingLog } from '../../support/log.ts';

test('an admin whose database was set back is stopped and started anew, and the one that runs in the end is stopped in order', async (t) => {
  const told: string[] = [];
  const lives: PromiseWithResolvers<void>[] = [];
  const started = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const start = (): Promise<Renewable> => {
    const life = lives.push(Promise.withResolvers<void>());
    told.push(`start ${life}`);
    started[life - 1]?.resolve();
    return Promise.resolve({
      setBack: lives[life - 1]!.promise,
      stop: () => {
        told.push(`stop ${life}`);
        return Promise.resolve();
      },
    });
  };
  const running = await startRenewed(start, String, recordingLog());

  lives[0]!.resolve();
  await started[1]!.promise;
  await running.stop();
  lives[1]!.resolve();
  await Promise.resolve();

  t.deepEqual(told, ['start 1', 'stop 1', 'start 2', 'stop 2']);
});
