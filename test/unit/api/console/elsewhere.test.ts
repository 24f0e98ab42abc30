/** Files of the console that another admin has: what is asked, of whom, how often, and for how long it is kept. */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import test from 'ava';
import { assetOf, type Asset, type Assets } from '../../../../api/console/assets.ts';
import { ASSET_CALL, PeerAssets, withConsoleAssets } from '../../../../api/console/elsewhere.ts';
import {
  ASSET_BYTES_MAX,
  ASSET_KEPT_MS,
  ASSET_MISSED_MS,
  ASSETS_ASKED,
  ASSETS_ASKED_BY_ONE,
  ASSETS_KEPT_BYTES_MAX,
} from '../../../../api/console/limits.ts';
import type { PeerAnswer, PeerCallHandler, PeerOutcome } from '../../../../api/forwarding/ports.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const ADDRESS = '192.0.2.1';
const NAME = 'nodes-ABCDEF23.js';

function fileOf(name: string, content: Buffer = Buffer.from(`// ${name}`)): Asset {
  return assetOf(name, { br: brotliCompressSync(content), gzip: gzipSync(content), identity: content });
}

const UNKNOWN: PeerCallHandler = async () => ({ type: 'unknown_operation' });

/** An admin beside others that do what is given; what these were asked for. */
function openElsewhere(...others: readonly PeerCallHandler[]) {
  const clock = createFakeClock();
  const asked: unknown[] = [];
  const handlers = new Map(others.map((handler, place) => [`id-${place}`, handler]));
  const elsewhere = new PeerAssets(
    {
      peers: { states: () => [...handlers.keys()].map((id) => ({ id, name: `admin-${id}` })) },
      calls: {
        async call(admin, call): Promise<PeerOutcome> {
          asked.push(call.input);
          const answer: PeerAnswer = await (handlers.get(admin) ?? UNKNOWN)(call, 'me');
          return JSON.parse(JSON.stringify(answer)) as PeerOutcome;
        },
      },
    },
    clock,
  );
  return { clock, asked, find: (name: string, address = ADDRESS) => elsewhere.find(name, address) };
}

/** An admin of another build with these files. */
function having(...files: readonly (readonly [string, Asset])[]): PeerCallHandler {
  const assets: Assets = new Map(files.map(([name, asset]) => [`assets/${name}`, asset]));
  return withConsoleAssets(async () => assets, UNKNOWN);
}

test('a file comes whole from whichever admin has it, once for all who want it, and is kept for a while', async (t) => {
  const file = fileOf(NAME);
  const { find, asked, clock } = openElsewhere(UNKNOWN, having(), having([NAME, file]));

  const found = await Promise.all([find(NAME), find(NAME)]);
  t.deepEqual(found, [file, file]);
  t.deepEqual(asked, [NAME, NAME, NAME]);
  clock.pass(ASSET_KEPT_MS - 1);
  t.deepEqual(await find(NAME), file);
  t.is(asked.length, 3);

  clock.pass(1);
  t.deepEqual(await find(NAME), file);
  t.is(asked.length, 6);
});

test('a file that no admin has is asked for once in some seconds', async (t) => {
  const { find, asked, clock } = openElsewhere(having(), withConsoleAssets(null, UNKNOWN));

  t.is(await find(NAME), null);
  clock.pass(ASSET_MISSED_MS - 1);
  t.is(await find(NAME), null);
  t.is(asked.length, 2);
  clock.pass(1);
  t.is(await find(NAME), null);

  t.is(asked.length, 4);
});

test('nobody is asked for a name that no build makes, and no admin answers one', async (t) => {
  const names = [
    'index.html',
    'none.js',
    '../index.html',
    'a-ABCDEF23.html',
    `a-ABCDEF2.js`,
    `${'a'.repeat(65)}-ABCDEF23.js`,
  ];
  const { find, asked } = openElsewhere(having(...names.map((name) => [name, fileOf(name)] as const)));
  const answers = having(['index.html', fileOf('index.html')]);

  for (const name of names) t.is(await find(name), null, name);

  t.deepEqual(asked, []);
  const call = { operation: ASSET_CALL, input: 'index.html' } as Parameters<PeerCallHandler>[0];
  const answer = await answers(call, 'me');
  t.false(answer.type === 'answered' && answer.result.ok);
});

/** The name of a file of its own for each number. */
const numbered = (number: number): string =>
  `a-${String(number)
    .padStart(8, '0')
    .replaceAll(/\d/gu, (digit) => 'ABCDEFGHIJ'[Number(digit)] ?? '')}.js`;

test('one address, and all of them together, have other admins asked so often at most', async (t) => {
  const { find, asked, clock } = openElsewhere(having());
  const { perWindowMax } = ASSETS_ASKED_BY_ONE;

  for (let number = 0; number <= perWindowMax; number += 1) await find(numbered(number));
  t.is(asked.length, perWindowMax);
  for (let number = 1_000; number <= 1_000 + perWindowMax; number += 1) await find(numbered(number), '198.51.100.7');
  t.is(asked.length, ASSETS_ASKED.tokensMax);

  clock.pass(1_000);
  for (let number = 2_000; number <= 2_100; number += 1) await find(numbered(number), '203.0.113.9');
  t.is(asked.length, ASSETS_ASKED.tokensMax + ASSETS_ASKED.tokensPerSecond);
});

test('what is kept has a bound in bytes, and a file that unpacks to more than one may have is none', async (t) => {
  const large = fileOf(NAME, Buffer.alloc(ASSET_BYTES_MAX, 'x'));
  const names = Array.from({ length: ASSETS_KEPT_BYTES_MAX / ASSET_BYTES_MAX + 1 }, (_none, number) =>
    numbered(number),
  );
  const bomb = fileOf(NAME, Buffer.alloc(ASSET_BYTES_MAX + 1, 'x'));
  const { find, asked } = openElsewhere(having([NAME, bomb], ...names.map((name) => [name, large] as const)));

  t.is(await find(NAME), null);
  for (const name of names) t.truthy(await find(name));
  const before = asked.length;
  await find(names.at(-1)!);
  t.is(asked.length, before, 'the last one is kept');
  await find(names[0]!);

  t.is(asked.length, before + 1, 'the first one is not');
});
