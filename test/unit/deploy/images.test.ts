/** What is written by hand of the images fits those that `npm run images` makes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { imagePlans } from '../../../deploy/images/contents.ts';
import { ROOT } from '../../support/source/source-text.ts';

test('the Dockerfile and the chart start Node from where it is in every image', (t) => {
  const places = imagePlans('0').flatMap(({ config }) => config.entrypoint.filter((word) => word.endsWith('/node')));

  const named = ['deploy/images/Dockerfile', 'deploy/chart/templates/admin.yaml'].flatMap((path) =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(/(?<=[\s"[])\/[\w/]+\/node(?=[\s",])/gu)].map(
      ([place]) => place,
    ),
  );

  t.true(named.length > 4);
  t.deepEqual([...new Set([...places, ...named])], ['/usr/local/bin/node']);
});
