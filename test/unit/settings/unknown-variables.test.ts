import test from 'ava';
import { AGENT_SETTINGS } from '../../../agent/config.ts';
import { ADMIN_SETTINGS } from '../../../settings/admin.ts';
import { settingNames } from '../../../settings/environment.ts';
import { nearestOf } from '../../../settings/nearest.ts';
import { unknownVariables } from '../../../settings/unknown-variables.ts';

const AGENT = { known: settingNames(AGENT_SETTINGS), own: ['AGENT_'], shared: ['ENROLLMENT_'] };

test('a variable that is a misspelt setting is told of with the one that was meant, and never with its value', (t) => {
  const lines = unknownVariables(
    {
      AGENT_ALIAS: 'hidden',
      AGENT_DATADIR: 'hidden',
      AGENT_SSH_PROT: 'hidden',
      ENROLLMENT_KEYS: 'hidden',
      AGENT_WHATEVER_ELSE: 'hidden',
    },
    AGENT,
  );

  t.deepEqual(lines, [
    'AGENT_ALIAS is no setting and does nothing: did you mean AGENT_ALIASES?',
    'AGENT_DATADIR is no setting and does nothing: did you mean AGENT_DATA_DIR?',
    'AGENT_SSH_PROT is no setting and does nothing: did you mean AGENT_SSH_PORT?',
    'AGENT_WHATEVER_ELSE is no setting and does nothing',
    'ENROLLMENT_KEYS is no setting and does nothing: did you mean ENROLLMENT_KEY?',
  ]);
});

test('settings, files of secret ones, and what others may mean are not told of', (t) => {
  t.deepEqual(
    unknownVariables(
      {
        AGENT_ALIASES: 'web-1',
        ENROLLMENT_KEY_FILE: 'key',
        ENROLLMENT_OF_ANOTHER_PROGRAM: 'x',
        AGENT_SERVICE_HOST: '10.0.0.1',
        AGENT_PORT_44000_TCP: 'tcp://10.0.0.1:44000',
        AGENT_PORT: 'tcp://10.0.0.1:44000',
        PATH: '/bin',
      },
      AGENT,
    ),
    [],
  );
  t.deepEqual(
    unknownVariables(Object.fromEntries(settingNames(ADMIN_SETTINGS).map((name) => [name, ''])), {
      known: settingNames(ADMIN_SETTINGS),
      own: [''],
    }),
    [],
  );
});

test('the nearest word has few wrong letters, or all parts of the given one; what is far from all has none', (t) => {
  const known = ['edge.node.status_changed', 'edge.node.registered', 'edge.core.test'];

  t.deepEqual(
    ['edge.node.status_chnaged', 'node.status_changed', 'EDGE.CORE.TEST', 'node.changed', 'webhook', ''].map((word) =>
      nearestOf(word, known),
    ),
    [known[0], known[0], known[2], known[0], null, null],
  );
});
