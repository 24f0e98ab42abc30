/** Outputs that were read as they came: whether they are what is stored (C10). */
import test from 'ava';
import type { Row } from '../invariants.ts';
import { NOTHING, type TailReader } from './history.ts';
import { NO_ROWS } from './rows.ts';
import { tailedOutputs } from './rules.ts';
import { DEADLINES } from './written-history.ts';

const EXECUTION = 'execution-1';

const rows = { ...NO_ROWS, executions: [{ id: EXECUTION, output: 'a\n' } as Row] };

/** What is said of one reader. */
function judged(reader: Partial<TailReader>): string[] {
  const whole = { execution: EXECUTION, admin: 'admin-2', text: 'a\n', problems: [], isWhole: true, ...reader };
  return tailedOutputs({ ...NOTHING, tailReaders: [whole] }, rows, DEADLINES);
}

test('an output that was read to its end is what is stored', (t) => {
  t.deepEqual(judged({}), []);
  t.deepEqual(judged({ text: 'b\n' }), [
    'C10: the output of execution execution-1 at admin-2 was "b\\n" at last, and is "a\\n"',
  ]);
});

test('an output whose reading was cut may be anything that came once and in order', (t) => {
  t.deepEqual(judged({ text: '', isWhole: false }), []);
  t.deepEqual(judged({ isWhole: false, problems: ['output at 0, where 2 were known'] }), [
    'C10: the output of execution execution-1 at admin-2 came with output at 0, where 2 were known',
  ]);
});

test('of an output that went with its command nothing is said', (t) => {
  t.deepEqual(judged({ execution: 'execution-2', text: 'b' }), []);
});
