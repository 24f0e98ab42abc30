import test from 'ava';
import { UpdateProblem } from '../../../../agent/updater/problem.ts';
import { createAgentService } from '../../../../agent/updater/service.ts';
import { UPDATER_SETTINGS } from '../../../../agent/updater/settings.ts';
import { readSettings } from '../../../../settings/environment.ts';
import { takeDescriptors } from '../../../support/descriptors.ts';

function serviceWith(env: Readonly<Record<string, string>>) {
  const read = readSettings(UPDATER_SETTINGS, env);
  if (!read.ok) throw new Error(read.problems.join('; '));
  return createAgentService(read.settings);
}

const RESTART = { UPDATER_RESTART_COMMAND: 'true' };

test('UPDATER_STATE_COMMAND says inactive for a stopped agent, abandoned for an abandoned one, and else neither', async (t) => {
  const cases: readonly (readonly [Readonly<Record<string, string>>, 'stopped' | 'abandoned' | null])[] = [
    [{ UPDATER_STATE_COMMAND: 'echo inactive; exit 3' }, 'stopped'],
    [{ UPDATER_STATE_COMMAND: 'echo abandoned; exit 3' }, 'abandoned'],
    [{ UPDATER_STATE_COMMAND: 'echo activating; exit 3' }, null],
    [{ UPDATER_STATE_COMMAND: 'echo failed; exit 3' }, null],
    [{ UPDATER_STATE_COMMAND: 'echo active' }, null],
    [{ UPDATER_STATE_COMMAND: '/nowhere/status inactive' }, null],
    [{}, null],
  ];

  for (const [env, state] of cases) {
    const service = serviceWith({ ...RESTART, ...env });
    t.deepEqual(
      [await service.isStopped(), await service.isAbandoned()],
      [state === 'stopped', state === 'abandoned'],
      JSON.stringify(env),
    );
  }
});

test.serial(
  'a command that the system does not start fails as any other, and does not say that the agent was stopped',
  async (t) => {
    const service = serviceWith({ ...RESTART, UPDATER_STATE_COMMAND: 'echo inactive' });
    process.env['LONG'] = 'x'.repeat(200_000); // more than the kernel takes in one variable: execve(2), MAX_ARG_STRLEN
    t.teardown(() => delete process.env['LONG']);

    await t.throwsAsync(service.restart(), {
      instanceOf: UpdateProblem,
      message: 'the agent could not be restarted (true): spawn E2BIG',
    });
    t.false(await service.isStopped());
  },
);

test.serial('while no file can be opened a command fails as any other', async (t) => {
  const taken = takeDescriptors(t, 0);
  const restarted = serviceWith(RESTART).restart();
  taken?.giveBack();

  if (taken === null) return t.notThrowsAsync(restarted); // no prlimit here
  return t.throwsAsync(restarted, { instanceOf: UpdateProblem, message: /EMFILE/u });
});
