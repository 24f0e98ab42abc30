/**
 * An observer as a program, for networks of tests: the keys of members are its arguments. Prints a line of JSON for its
 * places, and one for each place of a member that it tells.
 */
import { EndpointObserver } from '../../../../transport/vpn/observer/observer.ts';
import { monotonicMs, systemClock } from '../../../../transport/net/clock.ts';
import { silentLog } from '../../../support/log.ts';

const members = new Set(process.argv.slice(2));
const observer = await EndpointObserver.start({
  host: '::',
  port: 43_478,
  memberOf: async (publicKey) => (members.has(publicKey) ? publicKey : null),
  seen: (_member, publicKey, place) => print({ seen: { publicKey, ...place }, packets: observer.counters.packets }),
  clock: { after: (ms, run) => systemClock.after(ms, run) },
  monotonicMs,
  log: silentLog,
});
print({ places: observer.places });
process.on('SIGUSR2', () => print({ packets: observer.counters.packets }));

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
