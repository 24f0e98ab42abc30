import test from 'ava';
import { EXIT_STATUS } from '../../../agent/problem.ts';
import { stopParts, type RunningParts } from '../../../agent/stopping.ts';
import { recordingLog } from '../../support/log.ts';

test('parts that cannot let go are logged, and keep no other from ending', async (t) => {
  const log = recordingLog();
  const ended: string[] = [];
  const end = (what: string) => () => {
    ended.push(what);
    throw new Error(`${what} is stuck`);
  };
  const parts: RunningParts = {
    journal: { finished: () => [], holding: () => [] } as Partial<RunningParts['journal']> as RunningParts['journal'],
    executor: { close: async () => end('commands')(), detach() {} },
    reach: { close: async () => end('access')() },
    visibility: { close: end('metrics') },
    reports: { close: end('reports') },
    vpn: { close: async () => end('vpn')() },
    session: { isLive: false, stop: end('session') },
    updates: { isUnderWay: false, close: end('updates') },
    whenConfirmed: () => {},
    log,
  };

  await stopParts(parts, EXIT_STATUS.ok);

  t.deepEqual(ended, ['updates', 'metrics', 'reports', 'commands', 'access', 'vpn', 'session']);
  t.deepEqual(
    log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields),
    ended.map((what) => ({ what, error: new Error(`${what} is stuck`) })),
  );
});
