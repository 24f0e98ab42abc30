/** A channel with a lease and a clock that a test holds. */
import { Channel, type Outcome } from '../../../../supervisors/publishing/channel.ts';
import { channelFixture } from './fixture.ts';

/** A channel whose work comes to what a test says. */
export function openChannel({ random = 1 } = {}) {
  const fixture = channelFixture();
  const works: number[] = [];
  const losses: number[] = [];
  const next: { work: (epoch: number) => Outcome | Promise<Outcome> } = { work: () => 'none' };
  const channel = new Channel({
    ...fixture.ports,
    name: 'tests',
    random: () => random,
    work: async (epoch) => {
      works.push(fixture.clock.nowMs());
      return next.work(epoch);
    },
    mayGiveWay: () => false,
    lost: () => {
      losses.push(fixture.clock.nowMs());
    },
  });
  /** How often it worked in that time. */
  const worksIn = async (ms: number): Promise<number> => {
    const before = works.length;
    await fixture.pass(ms);
    return works.length - before;
  };
  return { ...fixture, channel, works, losses, next, worksIn };
}
