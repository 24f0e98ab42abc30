/** Three people walk through what they would do first, with the package that is published. What they type and see: the .txt files here. */
import ava from 'ava';
import { createScope } from '../../support/scope.ts';
import { peerTest } from '../../support/peer-test.ts';
import { installPackage, type Installation } from '../../support/installation.ts';
import { compareWalk, WALKERS } from './walks.ts';

const test = await peerTest('tmux', 'ssh', 'ssh-keygen', 'curl', 'jq');

const scope = createScope();
let installation: Installation | undefined;
ava.after.always('its files go', () => scope.end());

for (const walker of WALKERS)
  test.serial(
    `${walker.name}: every command of a walk with the built package shows what is written down`,
    async (t) => {
      installation ??= await installPackage(scope);
      await compareWalk(t, installation, walker);
    },
  );
