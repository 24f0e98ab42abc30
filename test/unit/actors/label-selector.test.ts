/** Selectors of labels: what they mean, and what is wrong with texts that are none. */
import * as fc from 'fast-check';
import test from 'ava';
import {
  matchesSelector,
  parseSelector,
  SELECTOR_PATTERN,
  SELECTOR_REQUIREMENTS_MAX,
  SELECTOR_VALUES_MAX,
} from '../../../actors/label-selector.ts';
import type { Labels } from '../../../transport/protocol/labels.ts';
import { naivelyMatches } from '../../support/selectors.ts';
import { labelSets, selectors } from '../../support/selectors.ts';

const NODES: Readonly<Record<string, Labels>> = {
  web: { env: 'prod', tier: 'web', zone: 'a' },
  db: { env: 'prod', tier: 'db', zone: 'b', gpu: '' },
  lab: { env: 'dev', 'example.com/rack': '7' },
  bare: {},
};

/** Names of the nodes that a selector means. */
function meant(selector: string): readonly string[] {
  const parsed = parseSelector(selector);
  if (!parsed.ok) throw new Error(parsed.problem);
  return Object.keys(NODES).filter((name) => matchesSelector(NODES[name] ?? {}, parsed.selector));
}

for (const [selector, names] of [
  ['env=prod', ['web', 'db']],
  ['env==prod', ['web', 'db']],
  ['env = prod , tier != db', ['web']],
  ['env!=prod', ['lab', 'bare']],
  ['tier!=db', ['web', 'lab', 'bare']],
  ['zone in (a,b)', ['web', 'db']],
  ['zone in ( a )', ['web']],
  ['zone notin (a)', ['db', 'lab', 'bare']],
  ['gpu', ['db']],
  ['gpu=', ['db']],
  ['gpu in (,x)', ['db']],
  ['!gpu', ['web', 'lab', 'bare']],
  ['! gpu,env', ['web', 'lab']],
  ['example.com/rack=7', ['lab']],
  ['in=x', []],
  ['!in,!notin', ['web', 'db', 'lab', 'bare']],
  ['constructor', []],
  ['env=prod,env=dev', []],
] as const)
  test(`${selector} means ${names.length === 0 ? 'nobody' : names.join(', ')}`, (t) => {
    t.deepEqual(meant(selector), names);
  });

for (const [text, problem] of [
  ['', 'character 1: the key of a label should stand here, not the end'],
  ['env=prod,', 'character 10: the key of a label should stand here, not the end'],
  [',env', 'character 1: the key of a label should stand here, not ","'],
  ['=prod', 'character 1: the key of a label should stand here, not "="'],
  ['-env=prod', 'character 1: "-env" is no key of a label'],
  ['a/b/c', 'character 1: "a/b/c" is no key of a label'],
  ['env=pro/d', 'character 5: "pro/d" is no value of a label'],
  ['env=prod tier=db', 'character 10: a comma or the end should stand here, not "tier"'],
  ['env\n=prod', 'character 1: "env\n" is no key of a label'],
  ['env prod', 'character 5: =, !=, in, notin or a comma should stand here, not "prod"'],
  ['env>3', 'character 4: =, !=, in, notin or a comma should stand here, not ">"'],
  ['!', 'character 2: the key of a label should stand here, not the end'],
  ['!env=prod', 'character 5: a comma or the end should stand here, not "="'],
  ['zone in a', 'character 9: ( should stand here, not "a"'],
  ['zone in ()', 'character 10: there is no value between the parentheses'],
  ['zone in (a', 'character 11: , or ) should stand here, not the end'],
  ['zone in (a b)', 'character 12: , or ) should stand here, not "b"'],
  ['k'.repeat(65), `character 1: "${'k'.repeat(63)}…" is no key of a label`],
] as const)
  test(`what is wrong with ${JSON.stringify(text.slice(0, 20))} is said, and where`, (t) => {
    t.deepEqual(parseSelector(text), { ok: false, problem });
  });

test('a selector has so many requirements and a requirement so many values, and no more', (t) => {
  const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}`);
  const set = (count: number) => `zone in (${keys(count).join(',')})`;

  t.true(parseSelector(keys(SELECTOR_REQUIREMENTS_MAX).join(',')).ok);
  t.deepEqual(parseSelector(keys(SELECTOR_REQUIREMENTS_MAX + 1).join(',')), {
    ok: false,
    problem: `character ${keys(SELECTOR_REQUIREMENTS_MAX).join(',').length + 2}: there are more than 32 requirements`,
  });
  t.true(parseSelector(set(SELECTOR_VALUES_MAX)).ok);
  t.regex((parseSelector(set(SELECTOR_VALUES_MAX + 1)) as { problem: string }).problem, /more than 64 values$/u);
});

test('any selector means what a naive reading of it means', (t) => {
  fc.assert(
    fc.property(selectors(), labelSets(), (text, labels) => {
      const parsed = parseSelector(text);

      t.is(parsed.ok && matchesSelector(labels, parsed.selector), naivelyMatches(labels, text));
    }),
    { numRuns: 2_000 },
  );
});

test('the pattern that describes selectors fits those that there are, and none that are wrong', (t) => {
  const pattern = new RegExp(SELECTOR_PATTERN, 'u');
  fc.assert(
    fc.property(fc.oneof(selectors(), fc.stringMatching(/^[ab=!(), in\t/]{0,16}$/u)), (text) => {
      t.is(parseSelector(text).ok, pattern.test(text), text);
    }),
    { numRuns: 20_000 },
  );
});

test('any text is a selector or a sentence, and takes no time', (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z=!(), in]{0,60}$/u)), (text) => {
      const parsed = parseSelector(text);

      t.true(parsed.ok || /^character \d+: /u.test(parsed.problem));
    }),
    { numRuns: 2_000 },
  );
});
