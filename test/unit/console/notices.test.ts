/** Which notices make room for others. */
import test from 'ava';
import { SAID_MAX, surplusOf, WAITING_MAX } from '../../../console/notices.ts';

interface Notice {
  readonly text: string;
  readonly undo?: object;
}

const said = (count: number): readonly Notice[] =>
  Array.from({ length: count }, (_, index) => ({ text: `said ${index}` }));
const waiting = (count: number): readonly Notice[] =>
  Array.from({ length: count }, (_, index) => ({ text: `waits ${index}`, undo: {} }));

test('an action that waits keeps its time, however much is said meanwhile', (t) => {
  t.is(surplusOf([...waiting(4), ...said(1)]), undefined);
  t.is(surplusOf([...waiting(1), ...said(SAID_MAX)]), undefined);
  t.deepEqual(surplusOf([...waiting(1), ...said(SAID_MAX + 1)]), { text: 'said 0' });
});

test('so many wait at a time, and the oldest of more is done', (t) => {
  t.is(surplusOf(waiting(WAITING_MAX)), undefined);
  t.like(surplusOf([...said(1), ...waiting(WAITING_MAX + 1)]), { text: 'waits 0' });
});
