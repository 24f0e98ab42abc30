import test from 'ava';
import { assert, constantFrom, integer, nat, property } from 'fast-check';
import { believe, type MetadataTexts } from '../../../../transport/releases/repository/trust.ts';
import { createReleases } from '../../../support/releases.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

test('no byte of the metadata can be changed so that something else is believed', async (t) => {
  const releases = await createReleases(temporaryDirectory(t));
  await releases.add({ version: '0.2.0' });
  await releases.promote('0.2.0');
  const texts = releases.repository.metadata();
  const trusted = { ...texts, root: releases.root };
  const nowMs = Date.now();
  const right = believe(texts, trusted, nowMs);
  const files = ['timestamp', 'snapshot', 'targets', 'root'] as const;

  assert(
    property(constantFrom(...files), nat(), integer({ min: 32, max: 126 }), (file, place, code) => {
      const text = file === 'root' ? releases.root : texts[file];
      const at = place % text.length;
      const changed = `${text.slice(0, at)}${String.fromCodePoint(code)}${text.slice(at + 1)}`;
      if (changed === text) return true;
      const next: MetadataTexts = file === 'root' ? { ...texts, roots: [changed] } : { ...texts, [file]: changed };
      try {
        return JSON.stringify(believe(next, trusted, nowMs)) === JSON.stringify(right);
      } catch {
        return true;
      }
    }),
    { numRuns: 500 },
  );
  t.pass();
});
