/** What receivers echo does not bring the headers of a webhook into the log. */
import test from 'ava';
import { hideValues } from '../../../../../transport/events/webhooks/hidden-values.ts';

test('values of headers are blanked in answers, whole, by their words, and where the answer was cut in one', (t) => {
  const hide = hideValues(['Bearer s3cret-token-of-mine', 'short', 'team-7-key']);

  t.is(
    hide('{"authorization":"Bearer s3cret-token-of-mine","x":"team-7-key"}'),
    '{"authorization":"[hidden]","x":"[hidden]"}',
  );
  t.is(hide('token s3cret-token-of-mine!'), 'token [hidden]!');
  t.is(hide('… s3cret-tok'), '… [hidden]');
  t.is(hide('a short answer'), 'a short answer');
});
