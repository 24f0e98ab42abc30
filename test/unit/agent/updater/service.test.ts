import test from 'ava';
import { createAgentService } from '../../../../agent/updater/service.ts';
import { UPDATER_SETTINGS } from '../../../../agent/updater/settings.ts';
import { readSettings } from '../../../../settings/environment.ts';

function serviceWith(env: Readonly<Record<string, string>>) {
  const read = readSettings(UPDATER_SETTINGS, env);
  if (!read.ok) throw new Error(read.problems.join('; '));
  return createAgentService(read.settings);
}

const RESTART = { UPDATER_RESTART_COMMAND: 'true' };

test('an agent that another than systemd starts was stopped on purpose where its command prints inactive', async (t) => {
  const cases: readonly (readonly [Readonly<Record<string, string>>, boolean])[] = [
    [{ UPDATER_STATE_COMMAND: 'echo inactive; exit 3' }, true],
    [{ UPDATER_STATE_COMMAND: 'echo failed; exit 3' }, false],
    [{ UPDATER_STATE_COMMAND: 'echo active' }, false],
    [{ UPDATER_STATE_COMMAND: '/nowhere/status inactive' }, false],
    [{}, false],
  ];

  for (const [env, isStopped] of cases)
    t.is(await serviceWith({ ...RESTART, ...env }).isStopped(), isStopped, JSON.stringify(env));
});
