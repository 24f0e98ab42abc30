import test from 'ava';
import * as fc from 'fast-check';
import { nodeNames } from '../../../actors/node-names.ts';

const DOMAIN = 'edge.internal';
const ID = '0190f5c2-7a11-4c3e-8f00-000000000001';

test('a node is named by its id, in any case and with a dot at the end', (t) => {
  const node = [{ kind: 'node', node: ID, cluster: 'prod' }];

  t.deepEqual(nodeNames(`node-${ID}.prod.${DOMAIN}`, DOMAIN), node as never);
  t.deepEqual(nodeNames(`NODE-${ID.toUpperCase()}.Prod.${DOMAIN}.`, DOMAIN), node as never);
});

test('an alias is a name in a cluster', (t) => {
  t.deepEqual(nodeNames(`web-1.prod.${DOMAIN}`, DOMAIN), [{ kind: 'alias', alias: 'web-1', cluster: 'prod' }]);
});

test('the prefix cluster- may stand before the cluster, and a cluster of that very name comes first', (t) => {
  t.deepEqual(nodeNames(`web-1.cluster-prod.${DOMAIN}`, DOMAIN), [
    { kind: 'alias', alias: 'web-1', cluster: 'cluster-prod' },
    { kind: 'alias', alias: 'web-1', cluster: 'prod' },
  ]);
});

for (const other of [
  'example.com',
  DOMAIN,
  `prod.${DOMAIN}`,
  `a.b.prod.${DOMAIN}`,
  `.prod.${DOMAIN}`,
  `web_1.prod.${DOMAIN}`,
  `web-.prod.${DOMAIN}`,
  `x.prod.other.internal`,
  '',
  '_',
  '127.0.0.1',
  `web-1.prod.${DOMAIN}.evil.example`,
]) {
  test(`${JSON.stringify(other)} is no name of a node`, (t) => {
    t.deepEqual(nodeNames(other, DOMAIN), []);
  });
}

test('any text is a name or none', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        nodeNames(`${text}.${DOMAIN}`, DOMAIN);
      }),
    ),
  );
});
