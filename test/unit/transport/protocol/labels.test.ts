/** Labels in the syntax and within the limits of Kubernetes. */
import test from 'ava';
import {
  isLabelKey,
  isLabelValue,
  isSameLabels,
  Labels,
  labelsOf,
  LABELS_MAX,
} from '../../../../transport/protocol/labels.ts';

const LONG = 'x'.repeat(63);

test('keys and values are those that Kubernetes takes', (t) => {
  for (const key of ['a', 'Env', 'a-b_c.d', '7', LONG, 'example.com/a', `${'a.'.repeat(126)}a/${LONG}`])
    t.true(isLabelKey(key), key);
  for (const key of [
    '',
    '-a',
    'a-',
    '.a',
    'a b',
    'ä',
    'a=b',
    `${LONG}x`,
    '/a',
    'a/',
    'a/b/c',
    'Example.com/a',
    '-x.com/a',
    'x..com/a',
    `${'a.'.repeat(127)}a/b`,
    '__proto__',
    'a\n',
  ])
    t.false(isLabelKey(key), JSON.stringify(key));
  for (const value of ['', 'a', 'A-b_c.9', LONG]) t.true(isLabelValue(value), value);
  for (const value of ['-a', 'a.', 'a b', `${LONG}x`, 'a/b', 'ä', '\0']) t.false(isLabelValue(value), value);
});

test('labels are read as env=prod,zone=a, and nothing that is none is let in', (t) => {
  t.deepEqual(labelsOf('env=prod, zone=a,empty=,'), { env: 'prod', zone: 'a', empty: '' });
  t.deepEqual(labelsOf(''), {});
  for (const wrong of ['env', '=prod', 'env=prod,env=dev', 'env=a=b', 'e nv=a', 'env=prod zone=a'])
    t.is(labelsOf(wrong), null, wrong);
  const many = (count: number) => Array.from({ length: count }, (_, index) => `k${index}=v`).join(',');
  t.is(Object.keys(labelsOf(many(LABELS_MAX)) ?? {}).length, LABELS_MAX);
  t.is(labelsOf(many(LABELS_MAX + 1)), null);
});

test('a wrong label is named by its key, and there are at most 64', (t) => {
  const many = Object.fromEntries(Array.from({ length: LABELS_MAX + 1 }, (_, index) => [`k${index}`, '']));
  const pathsOf = (given: unknown) => Labels.safeParse(given).error?.issues.map(({ path }) => path.join('.'));

  t.deepEqual(pathsOf({ env: 'prod', '-a': '' }), ['-a']);
  t.deepEqual(pathsOf({ env: 'pr od' }), ['env']);
  t.deepEqual(pathsOf(many), ['']);
  t.is(pathsOf({ env: 'prod' }), undefined);
});

test('labels are the same whatever their order, and a word of JavaScript is no label', (t) => {
  t.true(isSameLabels({ a: '1', b: '2' }, { b: '2', a: '1' }));
  t.false(isSameLabels({ a: '1' }, { a: '2' }));
  t.false(isSameLabels({ constructor: '1' }, { a: '1' }));
});
