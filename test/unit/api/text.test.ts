/** What PostgreSQL cannot hold is refused on every text of every operation, whoever adds one. */
import test from 'ava';
import { catalogue } from '../../../api/catalogue.ts';
import { textFields } from '../../support/source/text-fields.ts';

for (const { name, input } of Object.values(catalogue)) {
  test(`no text of ${name} takes a NUL`, (t) => {
    t.deepEqual(
      textFields(input).filter(({ taken }) => taken.length > 0),
      [],
    );
  });
}
