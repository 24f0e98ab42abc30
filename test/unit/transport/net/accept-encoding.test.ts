import test from 'ava';
import { HEADER_BYTES_MAX } from '../../../../api/rest/failures.ts';
import { acceptsEncoding } from '../../../../transport/net/accept-encoding.ts';

/** What the longest header takes is far below this, in ms; a search that begins at each blank takes seconds. */
const LOOK_MS_MAX = 1_000;

test('an encoding is taken where the header names it, and not with a weight of nought', (t) => {
  for (const header of ['br', 'gzip, br', 'gzip;q=0.5 , BR ; q=0.1', 'br;q=1'])
    t.true(acceptsEncoding(header, 'br'), header);
  for (const header of [undefined, '', 'gzip', 'br;q=0', 'br ; q=0.00', 'brx']) t.false(acceptsEncoding(header, 'br'));
});

test('a header of nothing but blanks between two letters is looked through at once', (t) => {
  const begun = performance.now();

  t.false(acceptsEncoding(`a${' '.repeat(HEADER_BYTES_MAX)}x`, 'br'));
  t.true(performance.now() - begun < LOOK_MS_MAX);
});
