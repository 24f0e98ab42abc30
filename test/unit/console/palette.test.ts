/** What the palette finds, and that keys lead to one page each. */
import test from 'ava';
import { findItems, FOUND_MAX, FOUND_OF_KIND_MAX, scoreOf, type Item, type Kind } from '../../../console/palette.ts';
import { OWN_PAGES, placeOf, sectionOf } from '../../../console/routes.ts';

const item = (kind: Kind, text: string, more?: string): Item => ({
  kind,
  id: `${kind}-${text}`,
  text,
  ...(more !== undefined && { more }),
  leads: { to: '/console' },
});
const texts = (items: readonly Item[]): readonly string[] => items.map(({ text }) => text);

test('a word is found best in whole, then at beginnings, within, and last by its letters', (t) => {
  const scores = ['web', 'web-1', 'my-web', 'cobweb', 'w-e-b'].map((text) => scoreOf(text, 'web'));

  t.deepEqual(
    scores,
    scores.toSorted((one, other) => (other ?? 0) - (one ?? 0)),
  );
  t.is(new Set(scores).size, 5);
  t.is(scoreOf('bew', 'web'), null);
  t.is(scoreOf('a-b', 'ab'), null, 'two letters in order are in nearly everything');
  t.is(scoreOf('cobweb my-web', 'web'), scoreOf('my-web', 'web'), 'the best place counts');
});

test('every word must be found, in the text or beside it, and the best stands first', (t) => {
  const items = [
    item('nodes', 'cobweb-2', 'berlin'),
    item('nodes', 'web-2', 'paris'),
    item('nodes', 'web-12', 'berlin'),
    item('nodes', 'web-2-old', 'berlin'),
  ];

  t.deepEqual(texts(findItems(items, ' WEB  2 berlin ')), ['web-2-old', 'web-12', 'cobweb-2']);
  t.deepEqual(texts(findItems(items, 'web nowhere')), []);
});

test('kinds stand together, the one with the best first; without a word there are no nodes', (t) => {
  const items = [item('pages', 'Nodes'), item('actions', 'Sign out'), item('nodes', 'sign'), item('nodes', 'a-sign')];

  t.deepEqual(texts(findItems(items, 'sign')), ['sign', 'a-sign', 'Sign out']);
  t.deepEqual(texts(findItems(items, '')), ['Nodes', 'Sign out']);
});

test('what is shown is bounded, however much there is and whatever is typed', (t) => {
  const items = (['nodes', 'clusters', 'commands', 'pages', 'actions'] as const).flatMap((kind) =>
    Array.from({ length: 1_000 }, (_, index) => item(kind, `web-${index}`)),
  );

  const found = findItems(items, 'web');

  t.is(found.length, FOUND_MAX);
  t.is(found.filter(({ kind }) => kind === 'pages').length, FOUND_OF_KIND_MAX);
  t.deepEqual(findItems(items, 'x'.repeat(1_000_000)), []);
  t.is(findItems(items, 'web '.repeat(10_000)).length, FOUND_MAX);
});

test('each key leads to one page, and each page below one of the navigation belongs to it', (t) => {
  const jumps = OWN_PAGES.flatMap((page) => placeOf(page).jump ?? []);

  t.is(new Set(jumps).size, jumps.length);
  for (const jump of jumps) t.regex(jump, /^[a-z]$/u);
  for (const page of OWN_PAGES) if (placeOf(page).group !== null) t.is(sectionOf(page), page);
});
