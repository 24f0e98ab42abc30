/** DATABASE_URL with one host and with several, as libpq writes them. */
import test from 'ava';
import { DATABASE_HOSTS_MAX, readDatabaseUrl } from '../../../settings/database-url.ts';

test('hosts, ports and sockets are read as libpq reads them', (t) => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    'postgres://u:p@one:5433/db': ['one:5433'],
    'postgresql://one/db': ['one:5432'],
    'postgresql://u@one:5432,two:5433,three/db?target_session_attrs=read-write': ['one:5432', 'two:5433', 'three:5432'],
    'postgresql://u:p%40x@[fd00::1]:5433,192.0.2.1/db': ['fd00::1:5433', '192.0.2.1:5432'],
    'postgresql://u@/db?host=one,two&port=6000': ['one:6000', 'two:6000'],
    'postgresql://u@localhost/db?host=%2Frun%2Fa,%2Frun%2Fb&port=5432,5433': ['/run/a:5432', '/run/b:5433'],
    'postgresql:///db': [':5432'],
  };

  for (const [url, places] of Object.entries(cases)) {
    const read = readDatabaseUrl(url);
    t.deepEqual(
      read?.places.map(({ host, port }) => `${host}:${port}`),
      places,
      url,
    );
    t.is(read?.database, 'db', url);
  }
});

test('a percent sign of a password that encodes nothing is one, as drivers read it', (t) => {
  const url = 'postgres://u:50%off@one/db';

  t.is(readDatabaseUrl(url)?.places[0]?.url, url);
});

test('what one connection needs names the first host and keeps the rest', (t) => {
  const firstOf = (url: string) => readDatabaseUrl(url)?.places[0]?.url;

  t.is(firstOf('postgres://u:p@one:5433/db?sslmode=require'), 'postgres://u:p@one:5433/db?sslmode=require');
  t.is(
    firstOf('postgres://u:p@one,two:5433/db?target_session_attrs=primary&sslmode=require'),
    'postgres://u:p@one:5432/db?sslmode=require',
  );
  t.is(firstOf('postgres://u@/db?host=/run/a,/run/b'), 'postgres://u@localhost/db?host=%2Frun%2Fa&port=5432');
});

test('what is no such URL, or wants a server that takes no writes, is refused', (t) => {
  const many = Array.from({ length: DATABASE_HOSTS_MAX + 1 }, (_, index) => `h${index}`).join(',');
  for (const url of [
    'mysql://one/db',
    'one:5432,two:5432',
    'postgres://one:0/db',
    'postgres://one:65536,two/db',
    'postgres://one:x,two/db',
    'postgres://one,,two/db',
    'postgres://one,two/db?port=1,2,3',
    'postgres://one,two/db?target_session_attrs=standby',
    'postgres://one,two/db?target_session_attrs=any',
    `postgres://${many}/db`,
    'postgres://u:p@h/%zz',
    'postgres://u:p@h/%ff',
    'postgres://u:p@h%zz/db',
    'postgres://u:%ff@h/db',
    'postgres://u:p@h%/db?port=1',
    'postgres://u:p@one,two%f0/db',
  ])
    t.is(readDatabaseUrl(url), null, url);
});
