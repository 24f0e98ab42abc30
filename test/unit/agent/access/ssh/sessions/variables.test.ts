import test from 'ava';
import { isVariableAccepted } from '../../../../../../agent/access/ssh/sessions/variables.ts';

test('a language is a name, never a path: setpriv looks there while it is still root', (t) => {
  t.true(isVariableAccepted('LANGUAGE', 'de_AT:de:en', {}));
  for (const path of ['../../home/alice', '/home/alice', 'de:/home/alice'])
    t.false(isVariableAccepted('LANGUAGE', path, {}), path);
});

test('what changes which code is run is no variable of a session', (t) => {
  for (const name of [
    'LD_PRELOAD',
    'LOCPATH',
    'NLSPATH',
    'NODE_OPTIONS',
    'BASH_ENV',
    'ENV',
    'PATH',
    'HOME',
    'LC_',
    'LC_all',
    'LANG\n',
  ])
    t.false(isVariableAccepted(name, 'x', {}), name);
});
