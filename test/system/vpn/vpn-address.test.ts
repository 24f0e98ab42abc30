/** R3: a machine's address in the VPN comes out nowhere. */
import test from 'ava';
import { createDatabase } from '../../support/database/database.ts';
import { runSealed } from '../../support/net/sealed-network.ts';
import { hangAfter } from '../../support/busy.ts';

/** In the private range of IPv6, and easily told from all else. */
const V6 = 'fd5e:ed1e:77aa::4d4d';

test('a machine with an address of the VPN names it in no metric, target, record, diagnosis, event or line of the log', async (t) => {
  t.timeout(hangAfter(120_000));
  const connection = await createDatabase(t);
  const sealed = runSealed(
    new URL('vpn-address-program.ts', import.meta.url).pathname,
    JSON.stringify({ connection, v6: V6 }),
  );
  if (!sealed.ok) {
    t.log(sealed.problem);
    t.pass();
    return;
  }

  t.is(sealed.status, 0, sealed.stderr.slice(-2_000));
  const { v4, device, isThere, said } = JSON.parse(sealed.stdout.trim().split('\n').at(-1) ?? '') as {
    readonly v4: string;
    readonly device: string;
    readonly isThere: boolean;
    readonly said: readonly { readonly place: string; readonly text: string }[];
  };
  t.true(isThere, 'the machine has the addresses');
  const forms = [
    v4,
    V6,
    V6.replaceAll(':', ''),
    Buffer.from(v4.split('.').map(Number)).toString('hex'),
    'fd5e:ed1e',
    '77aa',
  ];
  t.deepEqual(
    said.flatMap(({ place, text }) =>
      forms
        .filter((form) => text.toLowerCase().includes(form))
        .map((form) => `${form} in ${place}: …${around(text, form)}…`),
    ),
    [],
  );
  t.deepEqual(
    said.filter(({ place }) => /\([345]\d\d\)/u.test(place)).map(({ place }) => place),
    [],
  );
  t.true(
    said.length >= 18 && said.some(({ text }) => text.includes(`device="${device}"`)),
    'its interface was measured',
  );
});

function around(text: string, form: string): string {
  const at = text.toLowerCase().indexOf(form);
  return text.slice(Math.max(0, at - 80), at + 80);
}
