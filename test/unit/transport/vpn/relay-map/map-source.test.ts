/** Where relay maps come from (R2). */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { type RequestListener } from 'node:http';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createVet } from '../../../../../transport/net/outbound-guard/vetting.ts';
import { MapSource, followMap, fetchMap } from '../../../../../transport/vpn/relay-map/map-source.ts';
import { until } from '../../../../support/until.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { origin } from '../../../../support/net/listening.ts';

const reach = { vet: createVet({ allowPrivate: true, allowLoopback: true }), trusted: () => [] };

const derpMap = (id: number) =>
  JSON.stringify({
    Regions: { [id]: { RegionID: id, Nodes: [{ Name: `${id}a`, RegionID: id, HostName: 'relay.example.com' }] } },
  });

const serve = async (t: ExecutionContext, listener: RequestListener) => `${await origin(t, listener)}/map.json`;

const text =
  (body: string, status = 200): RequestListener =>
  (_request, answer) =>
    void answer.writeHead(status).end(body);

async function cacheFile(t: ExecutionContext): Promise<string> {
  const directory = temporaryDirectory(t);
  return join(directory, 'relay-map.json');
}

test('the first URL with a usable map wins, the next ones are not asked, and maps are not put together', async (t) => {
  let asked = 0;
  const [broken, first, second] = [
    await serve(t, text('{"Regions":{}}')),
    await serve(t, text(derpMap(901))),
    await serve(t, (request, answer) => {
      asked += 1;
      text(derpMap(902))(request, answer);
    }),
  ];

  const known = await new MapSource(reach, null).refresh([broken, first, second]);

  t.deepEqual(
    [[...(known?.map.regions.keys() ?? [])], known?.url, known?.problems, asked],
    [[901], first, [`${new URL(broken).origin}: it names no relay`], 0],
  );
});

test('the last good map is kept on the disk, for its owner alone, and is used when no URL gives one', async (t) => {
  const file = await cacheFile(t);
  const [good, gone] = [await serve(t, text(derpMap(901))), await serve(t, text('', 503))];
  await new MapSource(reach, file).refresh([good]);

  const later = new MapSource(reach, file);
  const known = await later.refresh([gone]);

  t.deepEqual(
    [[...(known?.map.regions.keys() ?? [])], known?.url, known?.problems.length, later.problems()],
    [[901], null, 1, [`${new URL(gone).origin}: it answered with status 503`]],
  );
  t.is((await stat(file)).mode & 0o777, 0o600);
  t.is(await readFile(file, 'utf8'), derpMap(901));
});

test('a map on the disk that was damaged is none', async (t) => {
  const file = await cacheFile(t);
  await writeFile(file, derpMap(901).slice(0, -3));

  t.is(await new MapSource(reach, file).refresh(['http://127.0.0.1:9/']), null);
});

test('without URLs there are no relays, whatever was known before', async (t) => {
  const source = new MapSource(reach, await cacheFile(t));
  await source.refresh([await serve(t, text(derpMap(901)))]);

  t.is(await source.refresh([]), null);
});

test('a URL is refused that leads inward, unless it is on the host of an admin; and no redirect is followed', async (t) => {
  const url = await serve(t, text(derpMap(901)));
  const redirect = await serve(t, (_request, answer) => void answer.writeHead(302, { location: url }).end());
  const closed = { vet: createVet({ allowPrivate: false }), trusted: () => [] };

  const [inward, metadata, trusted, followed] = [
    await fetchMap(url, closed),
    await fetchMap('http://169.254.169.254/latest/', reach),
    await fetchMap(url, { ...closed, trusted: () => [new URL(url).origin] }),
    await fetchMap(redirect, reach),
  ];

  t.deepEqual(
    [inward, metadata, followed].map((one) => (one.ok ? null : one.problem)),
    ['its address must not be reached', 'its address must not be reached', 'it answered with status 302'],
  );
  t.true(trusted.ok);
});

test('a server that is endless, silent or no server costs bounded bytes and time', async (t) => {
  const endless = await serve(t, (_request, answer) => {
    const more = (): void => {
      while (answer.write('x'.repeat(65_536)));
    };
    answer.on('drain', more).on('error', () => {});
    more();
  });
  const silent = await serve(t, () => {});

  const [large, late, none, broken] = [
    await fetchMap(endless, reach),
    await fetchMap(silent, reach, AbortSignal.timeout(300)),
    await fetchMap('http://127.0.0.1:1/', reach),
    await fetchMap('file:///etc/passwd', reach),
  ];

  t.deepEqual(
    [large, late, none, broken].map((one) => (one.ok ? null : one.problem)),
    ['it is too large', 'no answer in time', 'ECONNREFUSED', 'it is no URL of http or https'],
  );
});

test('a map that did not change is the same object, and one that did is another', async (t) => {
  const file = await cacheFile(t);
  let published = derpMap(901);
  const url = await serve(t, (request, answer) => text(published)(request, answer));
  await new MapSource(reach, file).refresh([url]);
  const source = new MapSource(reach, file);

  const atStart = await source.remembered();
  const [same, still] = [await source.refresh([url]), await source.refresh([url])];
  published = derpMap(902);
  const other = await source.refresh([url]);

  t.deepEqual([...(atStart?.map.regions.keys() ?? [])], [901]);
  t.deepEqual([same?.map === atStart?.map, still?.map === atStart?.map], [true, true]);
  t.deepEqual([...(other?.map.regions.keys() ?? [])], [902]);
});

test('where no relays are wanted any more, none is remembered', async (t) => {
  const file = await cacheFile(t);
  const url = await serve(t, text(derpMap(901)));
  const source = new MapSource(reach, file);
  await source.refresh([url]);

  t.is(await source.refresh([]), null);

  t.deepEqual([await source.remembered(), await new MapSource(reach, file).remembered()], [null, null]);
});

test('who follows a map is told of the one on the disk at first, and of each other one once', async (t) => {
  const file = await cacheFile(t);
  const told: (readonly number[] | null)[] = [];
  let published = derpMap(901);
  const url = await serve(t, (request, answer) => text(published)(request, answer));
  await new MapSource(reach, file).refresh([url]);
  const source = new MapSource(reach, file);

  const followed = followMap(source, (map) => {
    told.push(map === null ? null : [...map.regions.keys()]);
  });
  for (const next of [derpMap(901), derpMap(902), derpMap(902)]) {
    published = next;
    followed.refresh([url]);
    await source.remembered();
  }
  followed.refresh([]);
  await until('the end of relays', () => told.at(-1) === null);

  t.deepEqual(told, [[901], [902], null]);
});
