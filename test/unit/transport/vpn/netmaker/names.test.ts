import test from 'ava';
import { netmakerNames } from '../../../../../transport/vpn/netmaker/names.ts';

test('names are whole where Netmaker has no domain of its own, or another', (t) => {
  for (const serverDomain of ['', 'nm.internal']) {
    const names = netmakerNames('cluster-one', 'edge.test', serverDomain);
    t.is(names.stored('db'), 'db.one.edge.test');
    t.is(names.named('db.one.edge.test'), 'db');
    t.is(names.named('DB.one.edge.test.nm.internal'), 'db');
    t.deepEqual(
      [
        'db.two.edge.test',
        'a.db.one.edge.test',
        'one.edge.test',
        '.one.edge.test',
        'printer.home',
        'node-1.cluster-one.nm.internal',
      ].map((name) => names.named(name)),
      [null, null, null, null, null, null],
    );
  }
  t.is(
    netmakerNames('cluster-one', 'edge.test', 'nm.internal').deletable('db.one.edge.test.nm.internal'),
    'db.one.edge.test',
  );
});

test('what Netmaker puts behind names by itself is left out of them', (t) => {
  const same = netmakerNames('cluster-one', 'edge.test', 'edge.test');
  t.deepEqual(
    [
      same.stored('db'),
      same.named('db.one.edge.test'),
      same.named('node-1.cluster-one.edge.test'),
      same.deletable('db.one.edge.test'),
    ],
    ['db.one', 'db', null, 'db.one'],
  );
  const above = netmakerNames('cluster-one', 'edge.example.com', 'example.com');
  t.deepEqual([above.stored('db'), above.named('db.one.edge.example.com')], ['db.one.edge', 'db']);
});
