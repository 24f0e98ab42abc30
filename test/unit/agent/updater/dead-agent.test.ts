/** An agent that says nothing and has no process any more: who starts it again. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { restartDead } from '../../../../agent/updater/dead-agent.ts';
import { openUpdater } from '../../../../agent/updater/open.ts';
import { AgentSilence, DEAD_MS } from '../../../../agent/updater/repair.ts';
import { UPDATER_SETTINGS } from '../../../../agent/updater/settings.ts';
import { readSettings } from '../../../../settings/environment.ts';
import { recordingLog } from '../../../support/log.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

for (const [state, isStarted] of [
  ['abandoned', true],
  ['activating', false],
  ['failed', false],
  ['inactive', false],
  ['active', false],
  [null, false],
] as const)
  test(`where its state is ${state ?? 'told by nothing'} it is ${isStarted ? 'started' : 'left alone'}`, async (t) => {
    const place = temporaryDirectory(t);
    const data = join(place, 'agent');
    for (const directory of [data, join(place, 'updater')]) mkdirSync(directory);
    const { pid } = spawnSync('true'); // it ended
    const health = { version: '1', started_at: 1, connected_since: null, services_ok: true, problems: [] };
    writeFileSync(join(data, 'health.json'), JSON.stringify({ ...health, pid, last_answer_at: null }));
    const read = readSettings(UPDATER_SETTINGS, {
      UPDATER_DIR: join(place, 'updater'),
      UPDATER_AGENT_DATA_DIR: data,
      UPDATER_RESTART_COMMAND: `: >${place}/restarted`,
      ...(state !== null && { UPDATER_STATE_COMMAND: `echo ${state}` }),
    });
    if (!read.ok) throw new Error(read.problems.join('; '));
    const log = recordingLog();
    const parts = openUpdater(read.settings, log, new AbortController().signal);
    const silence = new AgentSilence({ ...parts, deadMs: DEAD_MS }, performance.now() - DEAD_MS);

    await restartDead(parts, silence);

    t.is(existsSync(join(place, 'restarted')), isStarted);
    t.deepEqual(
      log.lines.map(({ message }) => message),
      isStarted ? ['The agent does not run, and nothing starts it any more: it is started'] : [],
    );
    t.false(isStarted && (await silence.isDead(performance.now())), 'its silence counts from now on');
  });
