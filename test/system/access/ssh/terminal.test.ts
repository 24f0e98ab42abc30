/** Terminals of several users in one agent. */
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { peerTest } from '../../../support/run/peer-test.ts';
import { connectRaw, execRaw, shellRaw, withRawAlice } from '../../../support/ssh/raw-ssh-client.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('ssh-keygen'); // alone in its file: it looks at all terminals of its process

test('what is typed to a program that closed its terminal reaches no other terminal that has its descriptor now', async (t) => {
  const { fixture, key, login, client: alice } = await withRawAlice(t);
  fixture.user('bob', [key]);
  const bob = await connectRaw(t, fixture.port, { ...login, username: 'bob' });
  const ofAlice = await shellRaw(alice);
  await until('alice has a terminal', () => terminals().length === 1);
  const [wasHers] = terminals();
  ofAlice.channel.write('trap "" HUP; exec sleep 1000 <&- >&- 2>&-\n');
  await until('it is closed', () => terminals().length === 0);

  const ofBob = await shellRaw(bob);
  ofBob.channel.write('echo rea"dy"\n');
  await until('bob is in', () => ofBob.seen().includes('ready'));
  t.deepEqual(terminals(), [wasHers]);
  ofAlice.channel.write('echo INJECTED\n');
  ofAlice.channel.setWindow(7, 77, 0, 0);
  await once((await execRaw(alice, 'true')).resume(), 'exit'); // by now the server has what came before
  ofBob.channel.write('echo size"="$(stty size)\n');
  await until('bob sees his size', () => /size=\d/u.test(ofBob.seen()));

  t.regex(ofBob.seen(), /size=24 80/u);
  t.false(ofBob.seen().includes('INJECTED'));
});

/** Descriptors of the terminals that this process serves. */
function terminals(): string[] {
  return readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`) === '/dev/ptmx';
    } catch {
      return false; // that of this very look
    }
  });
}
