import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { FIRST_STATE, State } from '../../../../agent/updater/state.ts';
import { readState, writeState } from '../../../../agent/updater/state-file.ts';
import { UPDATE_ERROR_CHARS_MAX } from '../../../../transport/protocol/limits.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

test('the largest state is read back, whatever the log of an agent held', (t) => {
  const path = join(temporaryDirectory(t), 'state.json');
  const reason = '\u0001'.repeat(UPDATE_ERROR_CHARS_MAX);
  const [from, to] = ['1', '2'].map((version) => ({ name: version.repeat(128), version: version.repeat(64) }));
  const state = State.parse({
    format: 1,
    phase: {
      step: 'returning',
      reason,
      change: {
        wish: { by: 'request', request: 'r'.repeat(64), force: false, asked_at: 1 },
        from,
        to,
        before: null,
        problems: Array.from({ length: 32 }, () => '\u0002'.repeat(512)),
        restarted_at: 1,
      },
    },
    outcome: {
      request: null,
      outcome: 'rolled_back',
      from: from?.version,
      to: to?.version,
      error: reason,
      finished_at: 1,
      away_ms: null,
    },
    refused: { ...to, reason, at: 1 },
    pinned: null,
  });

  writeState(path, state);

  t.deepEqual(
    readState(path, (problem) => t.fail(problem)),
    state,
  );
});

test('a state that is damaged is put aside and told, and begun anew', (t) => {
  const path = join(temporaryDirectory(t), 'state.json');
  const told: string[] = [];
  writeFileSync(path, '{"format":1');

  t.is(
    readState(path, (problem) => told.push(problem)),
    FIRST_STATE,
  );
  t.regex(told.join(), /state\.json is damaged: it is put aside/u);
  t.deepEqual([existsSync(path), existsSync(`${path}.damaged`)], [false, true]);
});
