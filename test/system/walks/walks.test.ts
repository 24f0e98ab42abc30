/**
 * Three people walk through what they would do first: two with the package that is published, one with a clone. What
 * they type and see: the .txt files here.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import ava from 'ava';
import { hangAfter } from '../../support/busy.ts';
import { clone, installPackage, type Installation } from '../../support/releases/installation.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { walked, type Walker } from '../../support/walks/walk.ts';
import { INTEGRATOR } from './integrator.ts';
import { OPERATOR } from './operator.ts';
import { SRE } from './sre.ts';

const test = await peerTest('tmux', 'ssh', 'ssh-keygen', 'curl', 'jq');

const scope = createScope();
ava.after.always('its files go', () => scope.end());

/** Everybody who walks, and with what. */
const WALKERS: readonly (readonly [Walker, what: string, made: (scope: Scope) => Promise<Installation>])[] = [
  [SRE, 'the built package', installPackage],
  [OPERATOR, 'the built package', installPackage],
  [INTEGRATOR, 'a clone', async (ofFile) => Promise.resolve(clone(ofFile))],
];

/** Variable with which what is shown now is kept, to be read. */
const KEEP_VARIABLE = 'EDGE_TEST_KEEP_WALKS';

/** What a walk takes at most on a machine that does nothing else, in ms. */
const WALK_MS_MAX = 60_000;

for (const [walker, what, made] of WALKERS)
  test.serial(`${walker.name}: every command of a walk with ${what} shows what is written down`, async (t) => {
    t.timeout(hangAfter(WALK_MS_MAX));
    const file = new URL(`${walker.name}.txt`, import.meta.url);
    const ofTest = createScope();
    t.teardown(() => ofTest.end());

    const text = await walked(ofTest, await made(scope), walker);

    if (process.env[KEEP_VARIABLE] === 'yes') writeFileSync(file, text);
    t.is(text, readFileSync(file, 'utf8'));
  });
