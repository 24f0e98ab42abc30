/** Sessions of the console by the command line. */
import test from 'ava';
import type { ConsoleSessionResource } from '../../../actors/resources/console-session.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { edgeOf } from './fixture.ts';

const fleet = sharedFleet(test, {});
const edge = edgeOf(fleet);

/** Signs in as a browser does. Answers the id of the session. */
async function signIn(browser: string): Promise<string> {
  const { url } = fleet().admin();
  const answer = await fetch(`${url}/console/session`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'application/json', 'user-agent': browser },
    body: JSON.stringify({ key: FLEET_KEYS.MASTER_KEY }),
  });
  return ((await answer.json()) as { readonly data: { readonly id: string } }).data.id;
}

test('sessions are listed, newest first, and ended', async (t) => {
  const [first, second] = [await signIn('Firefox'), await signIn('Chromium')];

  const table = (await edge.data(t, 'console-session ls')).trimEnd().split('\n');
  t.is(await edge.data(t, ['console-session', 'rm', first]), '');
  const left = await edge.json<readonly ConsoleSessionResource[]>(t, 'console-session ls');

  t.deepEqual(
    table.map((line) => line.split(/ {2,}/u).filter((_cell, index) => [1, 4, 5].includes(index))),
    [
      ['KEY', 'FROM', 'BROWSER'],
      ['master', '127.0.0.1', 'Chromium'],
      ['master', '127.0.0.1', 'Firefox'],
    ],
  );
  t.deepEqual(
    left.map(({ id }) => id),
    [second],
  );
  await edge.refuses(t, ['console-session', 'rm', first], 4, /there is no session of the console/u);
});
