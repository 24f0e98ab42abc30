/** The walks, and what is kept of them. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import { hangAfter } from '../../support/busy.ts';
import { createScope } from '../../support/scope.ts';
import type { Installation } from '../../support/installation.ts';
import { walked, type Walker } from '../../support/walks/walk.ts';
import { INTEGRATOR } from './integrator.ts';
import { OPERATOR } from './operator.ts';
import { SRE } from './sre.ts';

/** Everybody who walks. */
export const WALKERS: readonly Walker[] = [SRE, INTEGRATOR, OPERATOR];

/** Variable with which what is shown now is kept, to be read. */
const KEEP_VARIABLE = 'EDGE_TEST_KEEP_WALKS';

/** What a walk takes at most on a machine that does nothing else, in ms. */
const WALK_MS_MAX = 60_000;

/** Walks, and holds what is shown against the file of the walk. */
export async function compareWalk(t: ExecutionContext, installation: Installation, walker: Walker): Promise<void> {
  t.timeout(hangAfter(WALK_MS_MAX));
  const file = new URL(`${walker.name}.txt`, import.meta.url);
  const scope = createScope();
  t.teardown(() => scope.end());

  const text = await walked(scope, installation, walker);

  if (process.env[KEEP_VARIABLE] === 'yes') writeFileSync(file, text);
  t.is(text, readFileSync(file, 'utf8'));
}
