/** Outputs in the console: groups of them, how they are asked for, colours, differences, words that are looked for. */
import test from 'ava';
import * as fc from 'fast-check';
import { plainTextOf, spansOf } from '../../../console/run/ansi.ts';
import {
  KEPT_BEGINNING_CHARACTERS,
  KEPT_CHARACTERS_MAX,
  KEPT_OUTPUT_CHARACTERS_MAX,
  mostFrequent,
  OutputGroups,
  type Grouped,
} from '../../../console/run/grouping.ts';
import { DIFF_LINES_MAX, lineDiff } from '../../../console/run/line-diff.ts';
import { LIVE_CHARACTERS_MAX, NO_TEXT, withPiece } from '../../../console/run/live-text.ts';
import { foundFirst, markedPieces, patternOf, searched } from '../../../console/run/output-search.ts';
import { scaled } from '../../support/busy.ts';

const done = (id: string, exitCode = 0): Grouped => ({ id, status: 'completed', exit_code: exitCode });
const shownBy = (groups: OutputGroups) =>
  groups
    .sorted()
    .map(({ kind, exitCode, output, preview, ids }) => [kind, exitCode, output, preview, [...ids].join('')]);

test('what ended alike and said the same stands together, failures first', (t) => {
  const groups = new OutputGroups();
  for (const id of 'abcdef') groups.put({ id, status: 'pending', exit_code: null });

  t.deepEqual(shownBy(groups), [['pending', null, 'none', '', 'abcdef']]);

  t.false(groups.put({ id: 'a', status: 'sent', exit_code: null }));
  for (const id of 'bcd') t.true(groups.put(done(id)), 'its output is asked for');
  t.false(groups.put(done('b')), 'once');
  t.true(groups.put(done('e', 3)));
  groups.say('b', { text: 'same\n', isTruncated: false });
  groups.say('c', { text: '\n \u001b[31msame\u001b[0m\nelse', isTruncated: false });
  groups.say('d', { text: 'same\n', isTruncated: false });
  groups.say('e', { text: 'same\n', isTruncated: false });
  groups.say('a', { text: 'one that runs', isTruncated: false });

  t.deepEqual(shownBy(groups), [
    ['failed', 3, 'known', 'same', 'e'],
    ['running', null, 'none', '', 'a'],
    ['pending', null, 'none', '', 'f'],
    ['succeeded', 0, 'known', 'same', 'bd'],
    ['succeeded', 0, 'known', 'same', 'c'],
  ]);
  t.is(mostFrequent(groups.sorted())?.ids.size, 2);
  t.is(groups.sorted(), groups.sorted(), 'nothing is sorted twice');
  const [failed, , pending] = groups.sorted();
  groups.put({ id: 'g', status: 'pending', exit_code: null });
  t.is(groups.sorted()[0], failed, 'what did not change is the same object');
  t.not(groups.sorted()[2], pending, 'and what changed another one');
  groups.remove('g');
  for (const id of 'abcdef') groups.remove(id);
  t.deepEqual([groups.sorted(), groups.keptCharacters], [[], 0]);
});

test('groups that are shown together have each execution once, whatever comes before the next look', (t) => {
  const groups = new OutputGroups();
  for (const id of 'abc') groups.put(done(id));
  groups.say('a', { text: 'over', isTruncated: false });
  const seen = groups.sorted();

  for (const id of 'bc') groups.say(id, { text: 'over', isTruncated: false });

  const shown = (list: typeof seen) => list.map(({ output, shown: count }) => [output, count]);
  t.deepEqual(shown(seen), [
    ['waiting', 2],
    ['known', 1],
  ]);
  t.deepEqual(shown(groups.sorted()), [['known', 3]]);
});

test('groups made one by one are those made at once, whatever comes in which order', (t) => {
  const one = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    status: fc.constantFrom(...(['pending', 'sent', 'completed', 'cancelled', 'expired'] as const)),
    exit_code: fc.constantFrom(0, 1),
    text: fc.constantFrom('x', 'y', ''),
  });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 30 }), (steps) => {
      const stepwise = new OutputGroups();
      const last = new Map<string, (typeof steps)[number]>();
      for (const step of steps) {
        if (stepwise.put(step)) stepwise.say(step.id, { text: step.text, isTruncated: false });
        const before = last.get(step.id);
        // what an execution said does not change as long as it is as it was
        const isSame = before?.status === step.status && before.exit_code === step.exit_code;
        if (!isSame) last.set(step.id, step);
      }
      const atOnce = new OutputGroups();
      for (const step of last.values())
        if (atOnce.put(step)) atOnce.say(step.id, { text: step.text, isTruncated: false });
      const facts = (groups: OutputGroups) => groups.sorted().map(({ key, ids }) => [key, [...ids].sort()]);
      t.deepEqual(facts(stepwise), facts(atOnce));
    }),
  );
});

test('of what is said no more is kept than fits, and the beginning of the rest', (t) => {
  const groups = new OutputGroups();
  const count = Math.ceil(KEPT_CHARACTERS_MAX / KEPT_OUTPUT_CHARACTERS_MAX) + 1;
  for (let index = 0; index < count; index += 1) {
    groups.put(done(`e${index}`));
    groups.say(`e${index}`, { text: `${index}${'x'.repeat(KEPT_OUTPUT_CHARACTERS_MAX - 10)}`, isTruncated: true });
  }
  groups.put(done('long'));
  groups.say('long', { text: 'y'.repeat(KEPT_OUTPUT_CHARACTERS_MAX + 1), isTruncated: false });
  groups.put(done('large'));
  groups.say('large', 'large');

  t.true(groups.keptCharacters <= KEPT_CHARACTERS_MAX + groups.sorted().length * KEPT_BEGINNING_CHARACTERS);
  const cut = groups.of('long');
  t.deepEqual(
    [cut?.isWhole, cut?.text.length, cut?.characters],
    [false, KEPT_BEGINNING_CHARACTERS, KEPT_OUTPUT_CHARACTERS_MAX + 1],
  );
  t.deepEqual([groups.of('e0')?.isWhole, groups.of(`e${count - 1}`)?.isWhole], [true, false]);
  t.is(groups.of('large')?.output, 'large');
  groups.say('large', { text: 'wanted', isTruncated: false });
  t.is(groups.of('large')?.text, 'wanted');
});

test('10,000 executions are grouped in a moment', (t) => {
  const startedMs = performance.now();
  const groups = new OutputGroups();
  for (let index = 0; index < 10_000; index += 1) {
    const execution = done(`e${index}`, index % 3);
    groups.put(execution);
    groups.say(execution.id, { text: `${index % 100} ${'line\n'.repeat(50)}`, isTruncated: false });
  }

  t.is(groups.sorted().length, 300);
  t.true(performance.now() - startedMs < scaled(5_000));
});

test('of what a terminal would obey only colours are taken, and nothing turns a line round', (t) => {
  t.deepEqual(spansOf('a\u001b[1;31mb\u001b[0mc\u001b[38;5;2md\u001b[38;2;1;2;3me\u001b[mf'), [
    { text: 'a', look: '' },
    { text: 'b', look: 'ansi-red ansi-bold' },
    { text: 'c', look: '' },
    { text: 'd', look: 'ansi-green' },
    { text: 'ef', look: '' },
  ]);
  t.deepEqual(spansOf('\u001b[91mx\u001b[4my\u001b[24;39mz'), [
    { text: 'x', look: 'ansi-red' },
    { text: 'y', look: 'ansi-red ansi-underlined' },
    { text: 'z', look: '' },
  ]);
  for (const [given, shown] of [
    ['\u001b[2J\u001b[H\u001b]0;title\u0007after', 'after'],
    ['\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\', 'link'],
    ['\u001bPq#0;2;0;0;0\u001b\\x\u001b(B\u001b7y', 'xy'],
    ['\u001b]never ends\nnext', '\nnext'],
    ['\u009b31mx\u009dtitle\u009cy', 'xy'],
    ['a\r\nb\tc', 'a\nb\tc'],
    ['a\u202eb\u2066c\u200bd\u0000e\ufeff\u2028', 'a\ufffdb\ufffdc\ufffdd\ufffde\ufffd\ufffd'],
    ['\u001b', ''],
    ['\u001b[?25lx\u001b[>4;1m', 'x'],
  ] as const) {
    t.is(plainTextOf(given), shown);
    t.is(
      spansOf(given)
        .map(({ text }) => text)
        .join(''),
      shown,
    );
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      // eslint-disable-next-line no-control-regex -- these are what is looked for
      t.notRegex(plainTextOf(text), /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/u);
    }),
  );
});

test('a difference shows what is gone and what is new, with some lines around', (t) => {
  const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `line ${from + index}`);
  const before = [...lines(0, 20), 'old', ...lines(20, 40)].join('\n');
  const after = [...lines(0, 20), 'new', ...lines(20, 40)].join('\n');

  const { lines: shown, isCut, isSame } = lineDiff(before, after);

  t.deepEqual([isCut, isSame], [false, false]);
  t.deepEqual(
    shown.map(({ kind, text }) => `${kind} ${text}`),
    [
      'gap ',
      ...lines(17, 20).map((line) => `same ${line}`),
      'gone old',
      'new new',
      ...lines(20, 23).map((line) => `same ${line}`),
      'gap ',
    ],
  );
  t.true(lineDiff('a\nb\n', 'a\nb').isSame);
  t.true(lineDiff(`${'a\n'.repeat(DIFF_LINES_MAX)}x`, 'b').isCut);
  const line = fc.constantFrom('a', 'b', 'c');
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), fc.array(line, { maxLength: 30 }), (one, other) => {
      const near = lineDiff([...one, ''].join('\n'), [...other, ''].join('\n')).lines;
      if (near.some(({ kind }) => kind === 'gap')) return;
      const side = (kind: 'gone' | 'new') =>
        near.filter((each) => [kind, 'same'].includes(each.kind)).map(({ text }) => text);
      t.deepEqual([side('gone'), side('new')], [one, other]);
    }),
  );
});

test('of an output that goes on its end is kept, from the beginning of a line', (t) => {
  let live = NO_TEXT;
  for (let index = 0; index < 1_000; index += 1)
    live = withPiece(live, { offset: live.offset, text: `${String(index).padStart(400)}\n` });

  t.true(live.text.length <= LIVE_CHARACTERS_MAX);
  t.true(live.text.endsWith(' 999\n'));
  t.is(live.missedCharacters + live.text.length, 401_000);
  t.regex(live.text, /^ +\d+\n/u);
});

test('where the machine did not keep what lies between two pieces, the second one stands alone', (t) => {
  const first = withPiece(NO_TEXT, { offset: 0, text: 'grün ' });
  const joined = withPiece(first, { offset: 6, text: 'on ' });

  t.deepEqual(joined, { text: 'grün on ', missedCharacters: 0, offset: 9 });
  t.deepEqual(withPiece(joined, { offset: 109, text: 'end\n' }), { text: 'end\n', missedCharacters: 108, offset: 113 });
});

test('words are looked for in outputs and names, and stand out where they are', (t) => {
  const groups = new OutputGroups();
  for (const [id, text] of [
    ['a', 'All (is) well'],
    ['b', 'broken'],
  ] as const) {
    groups.put(done(id));
    groups.say(id, { text, isTruncated: false });
  }
  const found = (words: string) =>
    searched(groups.sorted(), patternOf(words), (id) => `name-${id}`).groups.flatMap(({ ids }) => [...ids]);

  t.deepEqual([found('(IS)'), found('name-B'), found('nothing'), found('  ').length], [['a'], ['b'], [], 2]);
  t.deepEqual(markedPieces('a.B.b', patternOf('b')), ['a.', 'B', '.', 'b', '']);
});

test('of many that run those stand first that somebody chose or looks for', (t) => {
  const ids = new Set('abcdefgh');
  const named = (words: string, first = '', max = 3) =>
    foundFirst(ids, { max, first, pattern: patternOf(words), nameOf: (id) => `node-${id}` }).join('');

  t.deepEqual([named(''), named('node-G'), named('node-g', 'e'), named('', 'f')], ['abc', 'gab', 'ega', 'fab']);
  t.deepEqual([named('node'), named('nothing'), named('', 'x'), named('h', '', 20)], ['abc', 'abc', 'abc', 'habcdefg']);
});
