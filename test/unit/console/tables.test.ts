/** Tables of the console as they stand in its sources: the keyboard goes through the rows of each that scrolls. */
import test from 'ava';
import { trackedFiles } from '../../support/source/source-text.ts';

const pages = trackedFiles().filter(({ path, text }) => /^console\/.*\.tsx$/u.test(path) && text.includes('<table'));

/** Elements that scroll, as far as their attributes go. */
const SCROLLING = /<div\b[^>]*\bclass="scroll"[^>]*>/gu;

/** Beneath a chart: what its lines measure, of which nothing can be opened or scrolled. */
const STANDING = ['console/pages/node/charts.tsx'];

test('j and k lead through the rows of every table', (t) => {
  const regions = pages.map(({ path, text }) => ({ path, tags: text.match(SCROLLING) ?? [] }));

  t.deepEqual(
    regions.filter(({ tags }) => tags.length === 0).map(({ path }) => path),
    STANDING,
    'a table scrolls by itself, so that the page does not',
  );
  t.deepEqual(
    regions.filter(({ tags }) => tags.some((tag) => !tag.includes('onKeyDown={toRow}'))).map(({ path }) => path),
    [],
  );
});
