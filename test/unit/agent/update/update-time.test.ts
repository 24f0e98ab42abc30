import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { isUpdateTime, OWN_UPDATE_MS_MAX, pinOf } from '../../../../agent/update/update-time.ts';
import type { UpdateRecord } from '../../../../agent/update/update-records.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const NOW_MS = 1_700_000_000_000;

function updatingFile(t: ExecutionContext, content: string | null): string {
  const path = join(temporaryDirectory(t), 'updating.json');
  if (content !== null) writeFileSync(path, content);
  return path;
}

for (const [content, isUpdate] of [
  [null, false],
  [{ from: '0.1.0', to: '0.2.0', until: NOW_MS + 1 }, true],
  [{ from: '0.1.0', to: '0.2.0', until: NOW_MS + 3_600_000, by: 'a newer updater' }, true],
  [{ from: '0.1.0', to: '0.2.0', until: NOW_MS }, false],
  [{ from: '0.1.0', to: '0.2.0', until: NOW_MS + 3_600_001 }, false],
  [{ from: '0.1.0', to: '0.2.0', until: 'later' }, false],
  [{ until: NOW_MS + 1 }, false],
  ['', false],
  ['{"from":"0.1.0","to":"0.2.0","until"', false],
  [`{"from":"${'x'.repeat(10_000)}","to":"0.2.0","until":${NOW_MS + 1}}`, false],
] as const) {
  const text = typeof content === 'string' || content === null ? content : JSON.stringify(content);

  test(`updating.json ${text?.slice(0, 60) ?? 'that is not there'} ${isUpdate ? 'announces an update' : 'says nothing'}`, (t) => {
    const updating = updatingFile(t, text);

    t.is(isUpdateTime({ updating, records: [], version: '0.1.0', nowMs: NOW_MS }), isUpdate);
  });
}

const ACCEPTED: UpdateRecord = {
  request: '0190f5c2-7a11-7c3e-8f00-000000000001',
  state: 'accepted',
  error: null,
  from: '0.1.0',
  at_ms: NOW_MS - 1_000,
  outcome: null,
  is_told: false,
};

for (const [why, record, isUpdate] of [
  ['accepted just now', {}, true],
  ['of which it is not known whether the updater heard', { state: 'asked' }, true],
  ['refused', { state: 'refused' }, false],
  ['accepted too long ago', { at_ms: NOW_MS - OWN_UPDATE_MS_MAX }, false],
  ['of the time to come, as a clock was set back', { at_ms: NOW_MS + 1 }, false],
  ['that brought another version', { from: '0.0.9' }, false],
  ['that is over', { outcome: { outcome: 'unchanged', from: '0.1.0', to: '0.1.0', error: null } }, false],
] as const) {
  test(`an own update ${why} ${isUpdate ? 'counts' : 'does not count'} as under way`, (t) => {
    const records = [{ ...ACCEPTED, ...record }];

    t.is(isUpdateTime({ updating: updatingFile(t, null), records, version: '0.1.0', nowMs: NOW_MS }), isUpdate);
  });
}

test('a pin says why in its first line, and need not', (t) => {
  const directory = temporaryDirectory(t);
  const pin = (name: string, content: string) => {
    writeFileSync(join(directory, name), content);
    return pinOf(join(directory, name));
  };
  mkdirSync(join(directory, 'directory'));

  t.is(pinOf(join(directory, 'none')), null);
  t.is(pin('empty', ''), '');
  t.is(pin('why', ' harvest \nuntil autumn\n'), 'harvest');
  t.is(pin('large', 'x'.repeat(100_000)), '');
  t.is(pin('long', 'x'.repeat(1_000))?.length, 200);
  t.is(pinOf(join(directory, 'directory')), '', 'whatever has the name pins');
});
