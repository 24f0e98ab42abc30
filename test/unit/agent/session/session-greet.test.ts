/** An agent that says hello again on its connection, since its node moved. */
import test from 'ava';
import { PROTOCOL_VERSION } from '../../../../transport/protocol/version.ts';
import { SETTINGS, executionId, sessionFixture } from '../../../support/agent/session-fixture.ts';
import { column } from '../../../support/database/columns.ts';

test('an agent that is asked to says hello again on its connection, and sends again what was not answered', (t) => {
  const { journal, link, links } = sessionFixture();
  journal.finish(executionId(1));
  link().welcome();
  const before = link().frames.length;

  link().hear({ type: 'greet' });
  const greeting = link()
    .frames.slice(before)
    .map(({ type }) => type);
  link().hear({ type: 'welcome', protocol: PROTOCOL_VERSION, cluster_name: 'another', settings: SETTINGS });

  t.deepEqual(greeting, ['hello']);
  t.deepEqual(column(link().frames.slice(before + 1), 'type'), ['result']);
  t.deepEqual(
    column(link().frames, 'seq'),
    link().frames.map((_frame, index) => index + 1),
    'numbers go on',
  );
  t.is(links.length, 1);
});
