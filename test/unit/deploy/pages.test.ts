/** What of the documentation comes from the code is as the code has it. */
import test from 'ava';
import { GENERATED_PAGES, pageText, withRegions } from '../../../deploy/pages.ts';
import { promiseNames, promiseTests } from '../../../deploy/pages/promise-tests.ts';

for (const page of GENERATED_PAGES)
  test(`${page} says what the code says (node deploy/pages.ts writes it)`, (t) => {
    const text = pageText(page);

    t.is(withRegions(page, text), text);
  });

test('a page without a region is told which one it lacks', (t) => {
  const text = pageText('docs/limits.md').replace('<!-- end: limits -->', '');

  t.throws(() => withRegions('docs/limits.md', text), { message: /docs\/limits\.md has no region "limits"/u });
});

test('every promise is held by a test that cites it', (t) => {
  const page = pageText('docs/promises.md');

  t.true(promiseNames(page).length >= 30);
  t.deepEqual(
    promiseTests(page)
      .split('\n')
      .filter((row) => /\| *\|$/u.test(row)),
    [],
  );
});
